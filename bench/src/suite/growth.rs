//! The cost of one call as the catalogue grows, and as the servers behind the gateway become more:
//! it should not depend on either.

use serde_json::{Map, Value};

use super::BenchEnv;
use super::gateway::{Gateway, echo, over_http, plain};
use crate::client::request::{Era, Work};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Plan, Run, Series, interleave};

const SIZES: [usize; 3] = [10, 1000, 10_000];
const SERVERS: [usize; 3] = [1, 10, 100];

/// Measures the echo with few and with many tools.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let mut servers = Vec::new();
    for size in SIZES {
        servers.push(Server::start(bench_env.programs.everything(size)?)?);
    }
    let run = |(server, size)| {
        let label = format!("gantry with {size} more tools");
        Run { label, server, era: Era::Modern, work: Work::Echo, connections: 16 }
    };
    let runs: Vec<_> = servers.iter().zip(SIZES).map(run).collect();
    // The limit is narrow, so this row needs more rounds than the others to be fair.
    let plan = Plan { rounds: bench_env.plan.rounds + 2, ..bench_env.plan };
    let all = interleave(&bench_env.programs, plan, &runs)?;
    if let [few, thousand, ten_thousand] = &all[..] {
        report.figure(Row::GrowthThousand, thousand.ratio(few, |it| it.cpu_us));
        report.figure(Row::GrowthTenThousand, ten_thousand.ratio(few, |it| it.cpu_us));
    }
    report.sections.push(section("echo as the catalogue grows", &all));
    Ok(())
}

/// Measures the hop with few and with many servers behind the gateway.
pub(crate) fn measure_servers(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let upstream = Server::start(bench_env.programs.bench("bare-hyper"))?;
    let mut gateways = Vec::new();
    for count in SERVERS {
        gateways.push(Gateway::start(bench_env, &entries(&upstream, count))?);
    }
    let mut runs = Vec::new();
    for (gateway, count) in gateways.iter().zip(SERVERS) {
        let label = format!("gantry before {count} servers");
        runs.push(echo(&label, &gateway.server, Era::Modern));
    }
    let all = interleave(&bench_env.programs, bench_env.plan, &runs)?;
    if let [one, ten, hundred] = &all[..] {
        report.figure(Row::TenServers, ten.ratio(one, |it| it.cpu_us));
        report.figure(Row::HundredServers, hundred.ratio(one, |it| it.cpu_us));
    }
    report.sections.push(section("hop as the servers become more", &all));
    Ok(())
}

/// So many servers, the first with plain names. That all are one process is not the gateway's to see.
fn entries(upstream: &Server, count: usize) -> Value {
    let entry = over_http(upstream, Era::Modern);
    let entry = |number| if number == 0 { plain(&entry) } else { entry.clone() };
    (0..count).map(|number| (format!("s{number}"), entry(number))).collect::<Map<_, _>>().into()
}

fn section(title: &str, all: &[Series]) -> Section {
    let row = |series: &Series| {
        let cpu = format!("{:.1}", series.median(|it| it.cpu_us));
        vec![series.label.clone(), cpu, format!("{:.2}x", series.ratio(&all[0], |it| it.cpu_us))]
    };
    Section {
        title: title.to_owned(),
        head: &["target", "CPU us/call", "against the first"],
        rows: all.iter().map(row).collect(),
        note: String::new(),
    }
}
