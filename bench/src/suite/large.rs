//! Large messages through the hop: CPU time for each byte against the bare proxy, peak memory for
//! each byte, and what a caller of another server feels while 30 MB pass.

use std::process::{Command, Stdio};

use serde_json::json;

use super::gateway::{Gateway, over_http, plain, ready};
use super::{BenchEnv, megabytes};
use crate::client::request::{Address, Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::{Server, usage};
use crate::report::{Report, Section};
use crate::rounds::{Plan, Run, Series, Side, alternate, interleave, load_at};
use crate::window::Timing;

/// The sizes of a result, with the row of each.
const SIZES: [(&str, usize, Row); 4] = [
    ("1 kB", 1_000, Row::LargeKilobyte),
    ("100 kB", 100_000, Row::LargeHundredKilobytes),
    ("1 MB", 1_000_000, Row::LargeMegabyte),
    ("10 MB", 10_000_000, Row::LargeTenMegabytes),
];
/// What the memory of the gateway is measured with.
const PEAK_SIZE: usize = 10_000_000;
/// What passes while a caller of another server is measured: just below the default limit.
const PASSING: usize = 30_000_000;
/// The shortest window for results of a megabyte and more, in milliseconds.
const LEAST_WINDOW: u64 = 1500;
/// Results of that size before the peak is read.
const PEAK_CALLS: u64 = 3;

/// CPU time for each byte of a result, gateway and bare proxy in turn, two connections.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for (size, bytes, goal) in SIZES {
        let upstream = server(bench_env, bytes)?;
        let mut proxy = bench_env.programs.bench("bare-proxy");
        proxy.arg("--to").arg(upstream.address.url());
        let proxy = Server::start(proxy)?;
        let gateway = Gateway::before(bench_env, &over_http(&upstream, Era::Modern))?;
        let runs = [run("bare proxy", &proxy), run("gantry", &gateway.server)];
        // A window must hold some calls of each size.
        let least = if bytes < 1_000_000 { 0 } else { LEAST_WINDOW };
        let plan = Plan { window: bench_env.plan.window.max(least), ..bench_env.plan };
        let all = interleave(&bench_env.programs, plan, &runs)?;
        if let [bare, ours] = &all[..] {
            report.figure(goal, ours.ratio(bare, |it| it.cpu_us));
            rows.extend([row(size, bytes, bare), row(size, bytes, ours)]);
        }
    }
    report.sections.push(Section {
        title: "large results through a hop, HTTP to HTTP, 2 connections".to_owned(),
        head: &["result", "target", "calls/s", "p50 us", "p99 us", "CPU ns/byte"],
        rows,
        note: "2026-07-28 on both sides. CPU of the hop alone.".to_owned(),
    });
    Ok(())
}

/// Peak memory of a gateway above what it holds when idle, for each byte of a large result.
pub(crate) fn measure_memory(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let upstream = server(bench_env, PEAK_SIZE)?;
    let entry = plain(&over_http(&upstream, Era::Modern));
    // A call to see whether it is ready would be a large result too.
    let gateway = Gateway::quiet(bench_env, &json!({"large": entry}))?;
    let idle = gateway.server.resident()? as f64;
    ready(bench_env, &gateway.server.address, Era::Modern, Work::Echo)?;
    bench_env.wait(async {
        let mut client = Client::open(&gateway.server.address, Era::Modern).await?;
        let mut request = client.prepare(Work::Echo);
        for id in FIRST_ID..FIRST_ID + PEAK_CALLS {
            request.number(id);
            client.send(&request).await?;
            answer::check(client.body(), Work::Echo, id)?;
        }
        Ok(())
    })?;
    let peak = usage::peak(gateway.server.pid())? as f64;
    let each = (peak - idle) / PEAK_SIZE as f64;
    report.figure(Row::LargeMemory, each);
    report.sections.push(Section {
        title: "memory while a 10 MB result passes".to_owned(),
        head: &["idle RSS MB", "peak RSS MB", "above idle, bytes per byte"],
        rows: vec![vec![
            format!("{:.1}", megabytes(idle)),
            format!("{:.1}", megabytes(peak)),
            format!("{each:.2}"),
        ]],
        note: format!("{PEAK_CALLS} results, one after the other."),
    });
    Ok(())
}

/// What a caller of a small tool feels while results of 30 MB pass through the same gateway.
pub(crate) fn measure_bystander(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let (small, large) = (server(bench_env, 0)?, server(bench_env, PASSING)?);
    let servers = json!({
        "small": over_http(&small, Era::Modern),
        "large": over_http(&large, Era::Modern),
    });
    let gateway = Gateway::quiet(bench_env, &servers)?;
    let (to_small, to_large) = (endpoint(&gateway, "small"), endpoint(&gateway, "large"));
    ready(bench_env, &to_small, Era::Modern, Work::Echo)?;
    ready(bench_env, &to_large, Era::Modern, Work::Echo)?;

    let quiet = bystander(bench_env, &gateway, &to_small, "alone")?;
    let passing = Timing { window: 120_000, ..bench_env.plan.timing() };
    let mut command = one(bench_env, &gateway, &to_large, passing);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let background = Server::start_at(command, to_large)?;
    let busy = bystander(bench_env, &gateway, &to_small, "while 30 MB pass")?;
    drop(background);

    report.figure(Row::Bystander, busy.median(|it| it.p99_us) / 1e3);
    let row = |series: &Series| {
        let time = |share: f64| format!("{share:.0}");
        let times = [series.median(|it| it.p50_us), series.median(|it| it.p99_us)];
        [vec![series.label.clone()], times.map(time).to_vec()].concat()
    };
    report.sections.push(Section {
        title: "another caller while 30 MB pass, one call each 2 ms".to_owned(),
        head: &["bystander", "p50 us", "p99 us"],
        rows: [&quiet, &busy].map(row).to_vec(),
        note: "The 30 MB are written, read and checked on the same cores.".to_owned(),
    });
    Ok(())
}

/// The bare server whose echo carries so many bytes more.
fn server(bench_env: &BenchEnv, payload: usize) -> Result<Server, Fault> {
    let mut command = bench_env.programs.bench("bare-hyper");
    command.arg("--payload").arg(payload.to_string());
    Server::start(command)
}

fn endpoint(gateway: &Gateway, name: &str) -> Address {
    let authority = gateway.server.address.authority.clone();
    Address { authority, path: format!("/mcp/{name}") }
}

fn run<'a>(label: &str, server: &'a Server) -> Run<'a> {
    let label = label.to_owned();
    Run { label, server, era: Era::Modern, work: Work::Echo, connections: 2 }
}

/// The load of one connection on one endpoint.
fn one(bench_env: &BenchEnv, gateway: &Gateway, address: &Address, timing: Timing) -> Command {
    let run = Run { connections: 1, ..run("one", &gateway.server) };
    load_at(&bench_env.programs, &run, address, timing)
}

fn bystander(
    bench_env: &BenchEnv,
    gateway: &Gateway,
    address: &Address,
    label: &str,
) -> Result<Series, Fault> {
    let paced = Timing { pace: 2, ..bench_env.plan.timing() };
    let command = one(bench_env, gateway, address, paced);
    let mut all =
        alternate(bench_env.plan.rounds, vec![Side { label: label.to_owned(), command }])?;
    all.pop().ok_or(Fault::Slow("measure"))
}

fn row(size: &str, bytes: usize, series: &Series) -> Vec<String> {
    vec![
        size.to_owned(),
        series.label.clone(),
        format!("{:.0}", series.median(|it| it.calls_per_second)),
        format!("{:.0}", series.median(|it| it.p50_us)),
        format!("{:.0}", series.median(|it| it.p99_us)),
        format!("{:.2}", series.median(|it| it.cpu_us) * 1e3 / bytes as f64),
    ]
}
