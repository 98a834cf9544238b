//! The gateway with servers behind it, and the table that hops are compared in.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BenchEnv, megabytes};
use crate::client::request::{Address, Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::folder::Folder;
use crate::process::Server;
use crate::rounds::{Run, Series};

/// How long a gateway may take until a call comes through. Some need many seconds to start.
const START_LIMIT: Duration = Duration::from_secs(40);
/// Between two looks whether it does.
const PAUSE: Duration = Duration::from_millis(50);

/// Our gateway in front of servers.
pub(super) struct Gateway {
    pub(super) server: Server,
    /// Where its configuration and its state are.
    _folder: Folder,
}

impl Gateway {
    /// Starts with these entries of `mcpServers` and waits until `echo` answers through it.
    pub(super) fn start(bench_env: &BenchEnv, servers: &Value) -> Result<Self, Fault> {
        Self::with(bench_env, servers, &json!({}))
    }

    /// The same, with more of a configuration.
    pub(super) fn with(bench_env: &BenchEnv, servers: &Value, more: &Value) -> Result<Self, Fault> {
        let gateway = Self::launch(bench_env, servers, more)?;
        ready(bench_env, &gateway.server.address, Era::Modern, Work::Echo)?;
        Ok(gateway)
    }

    /// Starts with these entries and waits until it listens, without a call.
    pub(super) fn quiet(bench_env: &BenchEnv, servers: &Value) -> Result<Self, Fault> {
        Self::launch(bench_env, servers, &json!({}))
    }

    fn launch(bench_env: &BenchEnv, servers: &Value, more: &Value) -> Result<Self, Fault> {
        let folder = Folder::servers(servers, more)?;
        let server = Server::start(bench_env.programs.gantry_before(&folder)?)?;
        Ok(Self { server, _folder: folder })
    }

    /// In front of one server whose tools keep their names.
    pub(super) fn before(bench_env: &BenchEnv, entry: &Value) -> Result<Self, Fault> {
        Self::start(bench_env, &json!({"one": plain(entry)}))
    }
}

/// The entry of a server over HTTP, spoken to in one era.
pub(super) fn over_http(upstream: &Server, era: Era) -> Value {
    json!({"type": "streamable-http", "url": upstream.address.url(), "era": word(era)})
}

/// The entry of a program, spoken to in one era.
pub(super) fn over_stdio(command: &Command, era: Era) -> Value {
    let arguments: Vec<_> = command.get_args().map(|it| it.to_string_lossy()).collect();
    json!({"command": command.get_program().to_string_lossy(), "args": arguments, "era": word(era)})
}

/// The same entry, with no prefix to the names of its tools.
pub(super) fn plain(entry: &Value) -> Value {
    let mut entry = entry.clone();
    entry["prefix"] = "".into();
    entry
}

fn word(era: Era) -> &'static str {
    match era {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}

/// Waits until a server gives the right answer.
pub(super) fn ready(
    bench_env: &BenchEnv,
    address: &Address,
    era: Era,
    work: Work,
) -> Result<(), Fault> {
    let began = Instant::now();
    bench_env.wait(async {
        loop {
            match first_answer(address, era, work).await {
                Err(_) if began.elapsed() < START_LIMIT => tokio::time::sleep(PAUSE).await,
                ended => return ended,
            }
        }
    })
}

async fn first_answer(address: &Address, era: Era, work: Work) -> Result<(), Fault> {
    let mut client = Client::open(address, era).await?;
    let mut request = client.prepare(work);
    request.number(FIRST_ID);
    client.send(&request).await?;
    answer::check(client.body(), work, FIRST_ID)
}

/// The echo of one target, sixteen connections.
pub(super) fn echo<'a>(label: &str, server: &'a Server, era: Era) -> Run<'a> {
    Run { label: label.to_owned(), server, era, work: Work::Echo, connections: 16 }
}

/// The columns of a table of hops.
pub(super) const HEAD: &[&str] =
    &["target", "calls/s", "p50 us", "p99 us", "CPU us/call", "RSS MB after load"];

/// A row of it.
pub(super) fn row(series: &Series) -> Vec<String> {
    let resident = series.samples.last().map_or(0, |sample| sample.resident);
    vec![
        series.label.clone(),
        format!("{:.0}", series.median(|it| it.calls_per_second)),
        format!("{:.0}", series.median(|it| it.p50_us)),
        format!("{:.0}", series.median(|it| it.p99_us)),
        format!("{:.1}", series.median(|it| it.cpu_us)),
        format!("{:.1}", megabytes(resident as f64)),
    ]
}
