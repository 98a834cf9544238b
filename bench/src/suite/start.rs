//! From the start of the process to its first answer.

use std::process::Command;
use std::time::Duration;

use super::BenchEnv;
use crate::client::request::{Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::median;

/// Measures the bare server, our example and the gateway.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let programs = &bench_env.programs;
    let mut rows = Vec::new();
    rows.push(
        row(bench_env, "bare-hyper, echo", Work::Echo, || Ok(programs.bench("bare-hyper")))?.0,
    );
    match row(bench_env, "example `everything`, echo", Work::Echo, || programs.everything(0)) {
        Ok((row, _)) => rows.push(row),
        Err(fault) => report.gap("start of our example", &fault),
    }
    // The gateway's own tools are not the bench's affair; it answers a list.
    match row(bench_env, "`gantry serve`, tools/list", Work::List, || programs.gantry()) {
        Ok((row, time)) => {
            rows.push(row);
            report.figure(Row::Start, time);
        }
        Err(fault) => report.gap("start of the gateway", &fault),
    }
    report.sections.push(Section {
        title: "start to first answer".to_owned(),
        head: &["target", "ms, median", "ms, fastest"],
        rows,
        note: format!("{} starts each.", bench_env.plan.starts),
    });
    Ok(())
}

/// The table's row, and the median in milliseconds.
fn row(
    bench_env: &BenchEnv,
    label: &str,
    work: Work,
    command: impl Fn() -> Result<Command, Fault>,
) -> Result<(Vec<String>, f64), Fault> {
    let mut times = Vec::new();
    for _ in 0..bench_env.plan.starts {
        let took = once(bench_env, command()?, work)?;
        times.push(took.as_secs_f64() * 1e3);
    }
    let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let middle = median(times.into_iter());
    Ok((vec![label.to_owned(), format!("{middle:.1}"), format!("{fastest:.1}")], middle))
}

/// One start, from asking for the process to its first answer.
pub(super) fn once(bench_env: &BenchEnv, command: Command, work: Work) -> Result<Duration, Fault> {
    let server = Server::start(command)?;
    bench_env.wait(async {
        let mut client = Client::open(&server.address, Era::Modern).await?;
        let mut request = client.prepare(work);
        request.number(FIRST_ID);
        client.send(&request).await?;
        let took = server.began.elapsed();
        answer::check(client.body(), work, FIRST_ID)?;
        Ok(took)
    })
}
