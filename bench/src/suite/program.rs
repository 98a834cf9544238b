//! `echo` through a hop from HTTP to a program: the bare gateway, ours, and those of others, each in
//! front of the same small child.

use std::process::Command;

use super::Stage;
use super::gateway::{Gateway, HEAD, echo, over_stdio, ready, row};
use crate::client::request::Era::{Legacy, Modern};
use crate::client::request::Work;
use crate::fault::Fault;
use crate::goals::Row;
use crate::peers::{PEERS, Peer};
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Plan, Series, interleave};

/// How often the load visits a peer: its figures are far enough from ours.
const PEER_ROUNDS: usize = 2;

/// Measures the hop in both eras, sixteen connections.
pub(crate) fn measure(stage: &Stage, report: &mut Report) -> Result<(), Fault> {
    let child = child(stage);
    let mut bare = stage.programs.bench("bare-gateway");
    bare.arg("--").arg(child.get_program()).args(child.get_args());
    let bare = Server::start(bare)?;
    let to_modern = Gateway::before(stage, &over_stdio(&child, Modern))?;
    let to_legacy = Gateway::before(stage, &over_stdio(&child, Legacy))?;
    let (modern, legacy) = (&to_modern.server, &to_legacy.server);
    let mut runs = vec![
        echo("bare stdio gateway, 2026-07-28", &bare, Modern),
        echo("bare stdio gateway, 2025-11-25", &bare, Legacy),
        echo("gantry, 2026-07-28 to 2026-07-28", modern, Modern),
        echo("gantry, 2025-11-25 to 2025-11-25", legacy, Legacy),
    ];
    if stage.plan.peers {
        runs.push(echo("gantry, 2026-07-28 to 2025-11-25", legacy, Modern));
        runs.push(echo("gantry, 2025-11-25 to 2026-07-28", modern, Legacy));
    }
    let all = interleave(&stage.programs, stage.plan, &runs)?;
    if let [bare_modern, bare_legacy, modern, legacy, ..] = &all[..] {
        report.figure(Row::StdioModern, modern.ratio(bare_modern, |it| it.cpu_us));
        report.figure(Row::StdioLegacy, legacy.ratio(bare_legacy, |it| it.cpu_us));
    }
    report.sections.push(Section {
        title: "echo through a hop, HTTP to stdio, 16 connections".to_owned(),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: "CPU and memory of the hop alone, without the program behind it.".to_owned(),
    });
    Ok(())
}

/// Measures the peers one after the other; one that does not start or answer leaves a gap.
pub(crate) fn measure_peers(stage: &Stage, report: &mut Report) -> Result<(), Fault> {
    if !stage.plan.peers {
        return Ok(());
    }
    let mut all = vec![ours(stage)?];
    for peer in PEERS {
        match visit(stage, peer) {
            Ok(series) => all.push(series),
            Err(fault) => report.gap(peer.name, &fault),
        }
    }
    report.sections.push(Section {
        title: "echo through the gateways of others, HTTP to stdio, 16 connections".to_owned(),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: "2025-11-25 on both sides, one after the other and not in turn. CPU and memory of \
               the gateway's process alone."
            .to_owned(),
    });
    Ok(())
}

fn ours(stage: &Stage) -> Result<Series, Fault> {
    let gateway = Gateway::before(stage, &over_stdio(&child(stage), Legacy))?;
    run(stage, "gantry", &gateway.server)
}

fn visit(stage: &Stage, peer: &Peer) -> Result<Series, Fault> {
    let (command, address) = peer.command(stage.programs.peers()?, &child(stage))?;
    let server = Server::start_at(command, address)?;
    ready(stage, &server.address, Legacy, Work::Echo)?;
    run(stage, peer.name, &server)
}

fn run(stage: &Stage, name: &str, server: &Server) -> Result<Series, Fault> {
    let plan = Plan { rounds: PEER_ROUNDS, ..stage.plan };
    let mut all = interleave(&stage.programs, plan, &[echo(name, server, Legacy)])?;
    all.pop().ok_or(Fault::Closed("its window"))
}

/// The program behind every hop.
fn child(stage: &Stage) -> Command {
    stage.programs.bench("bare-stdio")
}
