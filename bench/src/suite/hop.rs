//! `echo` through a hop over HTTP: the bare proxy and the gateway in front of the same server, in
//! both eras and across them.

use super::BenchEnv;
use super::gateway::{Gateway, HEAD, echo, over_http, row};
use crate::client::request::Era::{Legacy, Modern};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Run, interleave};

const NOTE: &str = "The revision of the client, and for the gateway that of the server behind it. \
                    CPU and memory of the hop alone; \"no hop\" is the server itself.";

/// The server behind, and what stands in front of it.
struct Hops {
    upstream: Server,
    bare: Server,
    to_modern: Gateway,
    to_legacy: Gateway,
}

impl Hops {
    /// Starts the server of this name, and the hops before it.
    fn start(bench_env: &BenchEnv, server: &str) -> Result<Self, Fault> {
        let upstream = Server::start(bench_env.programs.bench(server))?;
        let mut proxy = bench_env.programs.bench("bare-proxy");
        proxy.arg("--to").arg(upstream.address.url());
        Ok(Self {
            bare: Server::start(proxy)?,
            to_modern: Gateway::before(bench_env, &over_http(&upstream, Modern))?,
            to_legacy: Gateway::before(bench_env, &over_http(&upstream, Legacy))?,
            upstream,
        })
    }

    /// The bare proxy and the gateway, in both eras.
    fn same_era(&self) -> Vec<Run<'_>> {
        vec![
            echo("bare proxy, 2026-07-28", &self.bare, Modern),
            echo("bare proxy, 2025-11-25", &self.bare, Legacy),
            echo("gantry, 2026-07-28 to 2026-07-28", &self.to_modern.server, Modern),
            echo("gantry, 2025-11-25 to 2025-11-25", &self.to_legacy.server, Legacy),
        ]
    }
}

/// Measures the hop in both eras and across them, sixteen connections.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let hops = Hops::start(bench_env, "bare-hyper")?;
    let (modern, legacy) = (&hops.to_modern.server, &hops.to_legacy.server);
    let mut runs = hops.same_era();
    runs.push(echo("gantry, 2026-07-28 to 2025-11-25", legacy, Modern));
    runs.push(echo("gantry, 2025-11-25 to 2026-07-28", modern, Legacy));
    if bench_env.plan.peers {
        runs.push(echo("no hop, 2026-07-28", &hops.upstream, Modern));
        runs.push(echo("no hop, 2025-11-25", &hops.upstream, Legacy));
    }
    let all = interleave(&bench_env.programs, bench_env.plan, &runs)?;
    if let [bare_modern, bare_legacy, modern, legacy, down, up, ..] = &all[..] {
        for (goal, ours, theirs) in [
            (Row::HopModern, modern, bare_modern),
            (Row::HopLegacy, legacy, bare_legacy),
            (Row::HopDown, down, modern),
            (Row::HopUp, up, legacy),
        ] {
            report.figure(goal, ours.ratio(theirs, |it| it.cpu_us));
        }
    }
    report.sections.push(Section {
        title: "echo through a hop, HTTP to HTTP, to a bare server, 16 connections".to_owned(),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: NOTE.to_owned(),
    });
    Ok(())
}

/// Measures the hop to a server as people write them: slower than a bare one, so that fewer messages
/// come at once and each wakes the hop. A quick run leaves it out.
pub(crate) fn measure_rmcp(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    if !bench_env.plan.peers {
        return Ok(());
    }
    let hops = Hops::start(bench_env, "rmcp")?;
    let all = interleave(&bench_env.programs, bench_env.plan, &hops.same_era())?;
    if let [bare_modern, bare_legacy, modern, legacy] = &all[..] {
        report.figure(Row::HopModernRmcp, modern.ratio(bare_modern, |it| it.cpu_us));
        report.figure(Row::HopLegacyRmcp, legacy.ratio(bare_legacy, |it| it.cpu_us));
    }
    report.sections.push(Section {
        title: "echo through a hop, HTTP to HTTP, to rmcp's server, 16 connections".to_owned(),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: NOTE.to_owned(),
    });
    Ok(())
}

/// Compares the slowest percent through the hop at 64 connections. It fails no run, so a quick one
/// leaves it out.
pub(crate) fn measure_tail(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    if !bench_env.plan.peers {
        return Ok(());
    }
    let hops = Hops::start(bench_env, "bare-hyper")?;
    let runs = [
        Run { connections: 64, ..echo("bare proxy, 2026-07-28", &hops.bare, Modern) },
        Run {
            connections: 64,
            ..echo("gantry, 2026-07-28 to 2026-07-28", &hops.to_modern.server, Modern)
        },
    ];
    let all = interleave(&bench_env.programs, bench_env.plan, &runs)?;
    if let [bare, ours] = &all[..] {
        report.figure(Row::HopTail, ours.ratio(bare, |it| it.p99_us));
    }
    report.sections.push(Section {
        title: "echo through a hop, HTTP to HTTP, 64 connections".to_owned(),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: String::new(),
    });
    Ok(())
}
