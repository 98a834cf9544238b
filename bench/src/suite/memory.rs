//! Memory of the server: idle, with many sessions, with many open streams; and the binary's size.

use std::process::Command;
use std::time::Duration;

use super::{BenchEnv, megabytes};
use crate::client::connection::Connection;
use crate::client::request::{Address, Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::Server;
use crate::report::{Report, Section};

const SESSIONS: usize = 10_000;
const SESSION_CONNECTIONS: usize = 8;
const STREAMS: usize = 1_000;
/// Time for the server to finish what follows its last answer.
const SETTLE: Duration = Duration::from_millis(300);

/// What a server is asked to hold.
#[derive(Clone, Copy)]
enum Burden {
    Sessions,
    Streams(Era),
}

impl Burden {
    const ALL: [Self; 3] = [Self::Sessions, Self::Streams(Era::Legacy), Self::Streams(Era::Modern)];

    fn text(self) -> &'static str {
        match self {
            Self::Sessions => "10,000 idle 2025-11-25 sessions",
            Self::Streams(Era::Legacy) => "1,000 open 2025-11-25 GET streams",
            Self::Streams(Era::Modern) => "1,000 open 2026-07-28 subscriptions",
        }
    }

    fn row(self) -> Row {
        match self {
            Self::Sessions => Row::Sessions,
            Self::Streams(Era::Legacy) => Row::GetStreams,
            Self::Streams(Era::Modern) => Row::ListenStreams,
        }
    }

    async fn open(self, address: &Address) -> Result<Vec<Connection>, Fault> {
        match self {
            Self::Sessions => open_sessions(address).await,
            Self::Streams(era) => open_streams(address, era).await,
        }
    }
}

/// The gateway without work, and the size of its binary.
pub(crate) fn measure_idle(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let size = megabytes(bench_env.programs.gantry_size()? as f64);
    let server = Server::start(bench_env.programs.gantry()?)?;
    std::thread::sleep(SETTLE);
    let idle = megabytes(server.resident()? as f64);
    report.figure(Row::Idle, idle);
    report.figure(Row::Binary, size);
    report.sections.push(Section {
        title: "gantry serve without work".to_owned(),
        head: &["idle RSS MB", "binary MB"],
        rows: vec![vec![format!("{idle:.1}"), format!("{size:.1}")]],
        note: String::new(),
    });
    Ok(())
}

/// The example server, and in a full run rmcp's, with much to hold. Each burden gets a fresh process.
pub(crate) fn measure_burdens(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for burden in Burden::ALL {
        let ours = bench_env.programs.everything(0);
        match ours.and_then(|command| weigh(bench_env, command, burden)) {
            Ok((idle, busy)) => {
                rows.push(row("gantry", burden, idle, busy));
                report.figure(burden.row(), megabytes(busy - idle));
            }
            Err(fault) => report.gap(burden.text(), &fault),
        }
        // rmcp serves subscriptions only to handlers that send notices, which an echo does not.
        if bench_env.plan.peers && !matches!(burden, Burden::Streams(Era::Modern)) {
            let (idle, busy) = weigh(bench_env, bench_env.programs.bench("rmcp"), burden)?;
            rows.push(row("rmcp", burden, idle, busy));
        }
    }
    report.sections.push(Section {
        title: "memory".to_owned(),
        head: &["holding", "target", "idle RSS MB", "RSS MB", "above idle", "bytes each"],
        rows,
        note: String::new(),
    });
    Ok(())
}

/// Memory before, and while the server holds the burden, in bytes.
fn weigh(bench_env: &BenchEnv, command: Command, burden: Burden) -> Result<(f64, f64), Fault> {
    let server = Server::start(command)?;
    std::thread::sleep(SETTLE);
    let idle = server.resident()?;
    let busy = bench_env.wait(async {
        let held = burden.open(&server.address).await?;
        tokio::time::sleep(SETTLE).await;
        let busy = server.resident()?;
        let open = held.iter().filter(|connection| connection.is_open()).count();
        if open < held.len() {
            return Err(Fault::Closed("streams that should stay open"));
        }
        Ok(busy)
    })?;
    Ok((idle as f64, busy as f64))
}

fn row(target: &str, burden: Burden, idle: f64, busy: f64) -> Vec<String> {
    let count = match burden {
        Burden::Sessions => SESSIONS,
        Burden::Streams(_) => STREAMS,
    };
    let above = busy - idle;
    vec![
        burden.text().to_owned(),
        target.to_owned(),
        format!("{:.1}", megabytes(idle)),
        format!("{:.1}", megabytes(busy)),
        format!("{:.1}", megabytes(above)),
        format!("{:.0}", above / count as f64),
    ]
}

/// Opens the sessions over a few connections; a session outlives the request that opened it.
async fn open_sessions(address: &Address) -> Result<Vec<Connection>, Fault> {
    let mut connections = Vec::new();
    for _ in 0..SESSION_CONNECTIONS {
        let mut client = Client::open(address, Era::Legacy).await?;
        let oldest = client.session();
        // Opening the client has opened the first one.
        for _ in 1..SESSIONS / SESSION_CONNECTIONS {
            client.open_session().await?;
        }
        // The oldest must still be there when all are open, else something else was measured.
        client.use_session(oldest);
        let mut request = client.prepare(Work::Echo);
        request.number(FIRST_ID);
        client.send(&request).await?;
        answer::check(client.body(), Work::Echo, FIRST_ID)?;
        connections.push(client.into_connection());
    }
    Ok(connections)
}

/// Opens the streams, each on its own connection and in the session era with its own session.
async fn open_streams(address: &Address, era: Era) -> Result<Vec<Connection>, Fault> {
    let mut streams = Vec::with_capacity(STREAMS);
    for _ in 0..STREAMS {
        streams.push(Client::open(address, era).await?.into_stream().await?);
    }
    Ok(streams)
}
