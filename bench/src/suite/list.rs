//! `tools/list` of 1,000 tools, our own and those of two servers, against a server that only writes
//! the same bytes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::BenchEnv;
use super::gateway::{Gateway, over_http, plain};
use crate::client::request::{Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::goals::{Level, Row};
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Run, Series, interleave};

const TOOLS: usize = 1000;
/// Between two looks whether a list is complete.
const PAUSE: Duration = Duration::from_millis(20);

/// The list's bytes in a file, for the bare server to read; removed at the end.
struct Body(PathBuf);

impl Drop for Body {
    fn drop(&mut self) {
        // A file left in the temporary folder does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Measures the list in both eras.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let ours = Server::start(bench_env.programs.everything(TOOLS)?)?;
    let list = bench_env.wait(fetch(&ours))?;
    let body = keep(&list)?;
    let bare = Server::start(bare(bench_env, &body.0))?;
    let all = interleave(
        &bench_env.programs,
        bench_env.plan,
        &[
            run("bare hyper, fixed bytes", &bare, Era::Modern, Work::FixedList, 16),
            run("gantry, 2026-07-28", &ours, Era::Modern, Work::List, 16),
            run("gantry, 2025-11-25", &ours, Era::Legacy, Work::List, 16),
            run("gantry, 2026-07-28, one connection", &ours, Era::Modern, Work::List, 1),
        ],
    )?;
    let [bytes, modern, legacy, single] = &all[..] else {
        return Ok(());
    };
    report.figure(Row::List, modern.ratio(bytes, |it| it.cpu_us));
    report.figure(Row::List, legacy.ratio(bytes, |it| it.cpu_us));
    report.level(Level::List, single.median(|it| it.p99_us) / 1e3);
    report.sections.push(section("tools/list", &all, &list));
    Ok(())
}

/// Measures the list of two servers through the gateway, in both eras.
pub(crate) fn measure_servers(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let mut upstream = bench_env.programs.bench("bare-hyper");
    upstream.arg("--more-tools").arg((TOOLS / 2 - 1).to_string());
    let upstream = Server::start(upstream)?;
    let entry = over_http(&upstream, Era::Modern);
    let gateway = Gateway::start(bench_env, &json!({"one": plain(&entry), "two": entry}))?;
    let ours = &gateway.server;
    let list = bench_env.wait(complete(ours))?;
    let body = keep(&list)?;
    let bare = Server::start(bare(bench_env, &body.0))?;
    let all = interleave(
        &bench_env.programs,
        bench_env.plan,
        &[
            run("bare hyper, fixed bytes", &bare, Era::Modern, Work::FixedList, 16),
            run("gantry, 2026-07-28", ours, Era::Modern, Work::List, 16),
            run("gantry, 2025-11-25", ours, Era::Legacy, Work::List, 16),
        ],
    )?;
    if let [bytes, modern, legacy] = &all[..] {
        report.figure(Row::ServersList, modern.ratio(bytes, |it| it.cpu_us));
        report.figure(Row::ServersList, legacy.ratio(bytes, |it| it.cpu_us));
    }
    report.sections.push(section("tools/list of two servers", &all, &list));
    Ok(())
}

/// The list when both servers have told theirs.
async fn complete(server: &Server) -> Result<Vec<u8>, Fault> {
    loop {
        let list = fetch(server).await?;
        if count(&list) >= TOOLS {
            return Ok(list);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn run<'a>(label: &str, server: &'a Server, era: Era, work: Work, connections: u16) -> Run<'a> {
    Run { label: label.to_owned(), server, era, work, connections }
}

fn section(title: &str, all: &[Series], list: &[u8]) -> Section {
    let (tools, kilobytes) = (count(list), list.len() / 1000);
    Section {
        title: title.to_owned(),
        head: &["target", "calls/s", "p50 us", "p99 us", "CPU us/call"],
        rows: all.iter().map(row).collect(),
        note: format!("{tools} tools in one answer, {kilobytes} kB."),
    }
}

async fn fetch(server: &Server) -> Result<Vec<u8>, Fault> {
    let mut client = Client::open(&server.address, Era::Modern).await?;
    let mut request = client.prepare(Work::List);
    request.number(FIRST_ID);
    client.send(&request).await?;
    answer::check(client.body(), Work::List, FIRST_ID)?;
    Ok(answer::messages(client.body()).last().unwrap_or_default().to_vec())
}

fn keep(list: &[u8]) -> Result<Body, Fault> {
    let name = format!("gantry-bench-list-{}.json", std::process::id());
    let body = Body(std::env::temp_dir().join(name));
    std::fs::write(&body.0, list).map_err(Fault::machine(format!("write {}", body.0.display())))?;
    Ok(body)
}

fn bare(bench_env: &BenchEnv, body: &Path) -> std::process::Command {
    let mut command = bench_env.programs.bench("bare-list");
    command.arg("--body").arg(body);
    command
}

fn count(list: &[u8]) -> usize {
    let value: serde_json::Value = serde_json::from_slice(list).unwrap_or_default();
    value["result"]["tools"].as_array().map_or(0, Vec::len)
}

fn row(series: &Series) -> Vec<String> {
    vec![
        series.label.clone(),
        format!("{:.0}", series.median(|it| it.calls_per_second)),
        format!("{:.0}", series.median(|it| it.p50_us)),
        format!("{:.0}", series.median(|it| it.p99_us)),
        format!("{:.1}", series.median(|it| it.cpu_us)),
    ]
}
