//! `tools/call` of `echo` over HTTP: the bare servers, ours and rmcp's, in both eras.

use super::{BenchEnv, megabytes};
use crate::client::request::{Era, Work};
use crate::fault::Fault;
use crate::goals::{Level, Row};
use crate::process::Server;
use crate::report::{Bar, Report, Section};
use crate::rounds::{Run, Series, interleave};

const HEAD: &[&str] = &[
    "target",
    "revision",
    "calls/s",
    "p50 us",
    "p99 us",
    "CPU us/call",
    "RSS MB idle",
    "after load",
];

/// A server with its name in the table and its memory before the first call.
struct Entrant {
    name: &'static str,
    server: Server,
    idle: u64,
}

impl Entrant {
    fn run(&self, era: Era, connections: u16) -> Run<'_> {
        let label = format!("{}, {}", self.name, era.revision());
        Run { label, server: &self.server, era, work: Work::Echo, connections }
    }
}

/// Measures the table of the echo, sixteen connections.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let entrants = start(bench_env, &["bare-hyper", "bare-axum", "rmcp"], report)?;
    let both = |entrant| [Era::Modern, Era::Legacy].map(|era| (entrant, era));
    let pairs: Vec<(&Entrant, Era)> = entrants.iter().flat_map(both).collect();
    let runs: Vec<_> = pairs.iter().map(|(entrant, era)| entrant.run(*era, 16)).collect();
    let all = interleave(&bench_env.programs, bench_env.plan, &runs)?;

    let rows = pairs.iter().zip(&all).map(|((entrant, era), series)| row(entrant, *era, series));
    report.sections.push(Section {
        title: "echo over HTTP, 16 connections".to_owned(),
        head: HEAD,
        rows: rows.collect(),
        note: format!(
            "Medians of {} rounds over all targets in turn, each column on its own.",
            bench_env.plan.rounds
        ),
    });
    for ((entrant, _), series) in pairs.iter().zip(&all) {
        let value = series.median(|it| it.cpu_us);
        let ours = entrant.name == OURS;
        report.bars.push(Bar { label: series.label.clone(), value, ours });
    }
    figures(&all, report);
    Ok(())
}

/// Compares the slowest percent at 64 connections.
pub(crate) fn measure_tail(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let entrants = start(bench_env, &["bare-hyper"], report)?;
    let runs: Vec<_> = entrants.iter().map(|entrant| entrant.run(Era::Modern, 64)).collect();
    let all = interleave(&bench_env.programs, bench_env.plan, &runs)?;
    let row = |(entrant, series)| row(entrant, Era::Modern, series);
    report.sections.push(Section {
        title: "echo over HTTP, 64 connections".to_owned(),
        head: HEAD,
        rows: entrants.iter().zip(&all).map(row).collect(),
        note: String::new(),
    });
    if let [bare, ours] = &all[..] {
        report.figure(Row::Tail, ours.ratio(bare, |it| it.p99_us));
    }
    Ok(())
}

const OURS: &str = "gantry";

/// Starts the named targets and ours; without ours the table still shows the others.
fn start(
    bench_env: &BenchEnv,
    names: &[&'static str],
    report: &mut Report,
) -> Result<Vec<Entrant>, Fault> {
    let mut entrants = Vec::new();
    for &name in names {
        entrants.push(entrant(name, Server::start(bench_env.programs.bench(name))?)?);
    }
    match bench_env.programs.everything(0).and_then(Server::start) {
        Ok(server) => entrants.push(entrant(OURS, server)?),
        Err(fault) => report.gap("our echo", &fault),
    }
    Ok(entrants)
}

fn entrant(name: &'static str, server: Server) -> Result<Entrant, Fault> {
    let idle = server.resident()?;
    Ok(Entrant { name, server, idle })
}

fn row(entrant: &Entrant, era: Era, series: &Series) -> Vec<String> {
    let resident = series.samples.last().map_or(0, |sample| sample.resident);
    vec![
        entrant.name.to_owned(),
        era.revision().to_owned(),
        format!("{:.0}", series.median(|it| it.calls_per_second)),
        format!("{:.0}", series.median(|it| it.p50_us)),
        format!("{:.0}", series.median(|it| it.p99_us)),
        format!("{:.1}", series.median(|it| it.cpu_us)),
        format!("{:.1}", megabytes(entrant.idle as f64)),
        format!("{:.1}", megabytes(resident as f64)),
    ]
}

/// Each era is compared with the same era of the others: the requests differ in size.
fn figures(all: &[Series], report: &mut Report) {
    let find = |name: &str, era: Era| {
        let label = format!("{name}, {}", era.revision());
        all.iter().find(|series| series.label == label)
    };
    for (era, theirs, goal) in [
        (Era::Modern, "bare-hyper", Row::EchoModernBare),
        (Era::Legacy, "bare-hyper", Row::EchoLegacyBare),
        (Era::Modern, "rmcp", Row::EchoModernRmcp),
        (Era::Legacy, "rmcp", Row::EchoLegacyRmcp),
    ] {
        if let (Some(ours), Some(theirs)) = (find(OURS, era), find(theirs, era)) {
            report.figure(goal, ours.ratio(theirs, |it| it.cpu_us));
        }
    }
    if let Some(ours) = find(OURS, Era::Legacy) {
        report.level(Level::HttpTime, ours.median(|it| it.p99_us) / 1e3);
        report.level(Level::HttpRate, ours.median(|it| it.calls_per_second));
    }
}
