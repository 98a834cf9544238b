//! `echo` through a hop from HTTP to a program: the bare gateway, ours, and those of others, each in
//! front of the same small child.

use std::process::Command;

use super::BenchEnv;
use super::gateway::{Gateway, HEAD, echo, over_stdio, ready, row};
use crate::client::request::Era::{Legacy, Modern};
use crate::client::request::Work;
use crate::fault::Fault;
use crate::goals::Row;
use crate::peers::{PEERS, Peer};
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Plan, Run, Series, interleave};

/// How often the load visits a peer: its figures are far enough from ours.
const PEER_ROUNDS: usize = 2;

/// A program behind, and what stands in front of it.
struct Hops {
    /// One for each era: a program may stay with the one that it was first spoken to in.
    bare: [Server; 2],
    to_modern: Gateway,
    to_legacy: Gateway,
}

impl Hops {
    fn start(bench_env: &BenchEnv, child: &Command) -> Result<Self, Fault> {
        let bare = || {
            let mut bare = bench_env.programs.bench("bare-gateway");
            bare.arg("--").arg(child.get_program()).args(child.get_args());
            Server::start(bare)
        };
        Ok(Self {
            bare: [bare()?, bare()?],
            to_modern: Gateway::before(bench_env, &over_stdio(child, Modern))?,
            to_legacy: Gateway::before(bench_env, &over_stdio(child, Legacy))?,
        })
    }

    /// The bare gateway and ours, in both eras.
    fn runs(&self) -> Vec<Run<'_>> {
        vec![
            echo("bare stdio gateway, 2026-07-28", &self.bare[0], Modern),
            echo("bare stdio gateway, 2025-11-25", &self.bare[1], Legacy),
            echo("gantry, 2026-07-28 to 2026-07-28", &self.to_modern.server, Modern),
            echo("gantry, 2025-11-25 to 2025-11-25", &self.to_legacy.server, Legacy),
        ]
    }
}

/// Measures the hop in both eras, sixteen connections.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let hops = Hops::start(bench_env, &child(bench_env))?;
    let mut runs = hops.runs();
    if bench_env.plan.peers {
        let (modern, legacy) = (&hops.to_modern.server, &hops.to_legacy.server);
        runs.push(echo("gantry, 2026-07-28 to 2025-11-25", legacy, Modern));
        runs.push(echo("gantry, 2025-11-25 to 2026-07-28", modern, Legacy));
    }
    compare(bench_env, report, &runs, "a bare program", [Row::StdioModern, Row::StdioLegacy])
}

/// Measures the hop to a program as people write them. A quick run leaves it out.
pub(crate) fn measure_rmcp(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    if !bench_env.plan.peers {
        return Ok(());
    }
    let mut child = bench_env.programs.bench("rmcp");
    child.arg("--stdio");
    let hops = Hops::start(bench_env, &child)?;
    let rows = [Row::StdioModernRmcp, Row::StdioLegacyRmcp];
    compare(bench_env, report, &hops.runs(), "rmcp's program", rows)
}

/// Lets the load visit all of these; the rows are those of the two eras.
fn compare(
    bench_env: &BenchEnv,
    report: &mut Report,
    runs: &[Run<'_>],
    behind: &str,
    [modern_row, legacy_row]: [Row; 2],
) -> Result<(), Fault> {
    let all = interleave(&bench_env.programs, bench_env.plan, runs)?;
    if let [bare_modern, bare_legacy, modern, legacy, ..] = &all[..] {
        report.figure(modern_row, modern.ratio(bare_modern, |it| it.cpu_us));
        report.figure(legacy_row, legacy.ratio(bare_legacy, |it| it.cpu_us));
    }
    report.sections.push(Section {
        title: format!("echo through a hop, HTTP to stdio, to {behind}, 16 connections"),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: "CPU and memory of the hop alone, without the program behind it.".to_owned(),
    });
    Ok(())
}

/// Measures the peers one after the other; one that does not start or answer leaves a gap.
pub(crate) fn measure_peers(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    if !bench_env.plan.peers {
        return Ok(());
    }
    let mut all = vec![ours(bench_env)?];
    for peer in PEERS {
        match visit(bench_env, peer) {
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

fn ours(bench_env: &BenchEnv) -> Result<Series, Fault> {
    let gateway = Gateway::before(bench_env, &over_stdio(&child(bench_env), Legacy))?;
    run(bench_env, "gantry", &gateway.server)
}

fn visit(bench_env: &BenchEnv, peer: &Peer) -> Result<Series, Fault> {
    let (command, address) = peer.command(bench_env.programs.peers()?, &child(bench_env))?;
    let server = Server::start_at(command, address)?;
    ready(bench_env, &server.address, Legacy, Work::Echo)?;
    run(bench_env, peer.name, &server)
}

fn run(bench_env: &BenchEnv, name: &str, server: &Server) -> Result<Series, Fault> {
    let plan = Plan { rounds: PEER_ROUNDS, ..bench_env.plan };
    let mut all = interleave(&bench_env.programs, plan, &[echo(name, server, Legacy)])?;
    all.pop().ok_or(Fault::Closed("its window"))
}

/// The program behind every hop.
fn child(bench_env: &BenchEnv) -> Command {
    bench_env.programs.bench("bare-stdio")
}
