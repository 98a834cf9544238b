//! The closed loop: each caller makes its next call when the answer to the last one has been
//! checked. Runs in a process of its own on one thread, and reads the server's CPU time at both ends
//! of the window.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::request::{Address, Era, FIRST_ID, Request, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::window::{Meter, Sample, Timing, Window};

/// How many ids one caller has for itself.
pub(crate) const IDS_PER_CALLER: u64 = 10_000_000;
/// What the handshakes before and the last answers after the window may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// What to send, where, and for how long.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Load {
    /// The server's endpoint.
    #[arg(long)]
    url: Address,
    /// The server's process, whose CPU time is read.
    #[arg(long)]
    pid: u32,
    #[arg(long, value_enum, default_value = "modern")]
    era: Era,
    #[arg(long, value_enum, default_value = "echo")]
    work: Work,
    /// Connections, each with one call in flight.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=80))]
    connections: u16,
    #[command(flatten)]
    timing: Timing,
}

/// Who makes calls, one at a time.
pub(crate) trait Caller: Send + 'static {
    /// Makes call `id`, checks its answer, and says how long it took to come.
    fn call(&mut self, id: u64) -> impl Future<Output = Result<Duration, Fault>> + Send;
}

/// A caller over HTTP.
struct Http {
    client: Client,
    request: Request,
    work: Work,
}

impl Caller for Http {
    async fn call(&mut self, id: u64) -> Result<Duration, Fault> {
        self.request.number(id);
        let sent = Instant::now();
        self.client.send(&self.request).await?;
        let took = sent.elapsed();
        answer::check(self.client.body(), self.work, id)?;
        Ok(took)
    }
}

/// Runs the load to its end; a server that stops answering ends it too.
pub(crate) async fn run(load: &Load) -> Result<Sample, Fault> {
    let opening = async {
        let mut callers = Vec::new();
        for _ in 0..load.connections {
            let client = Client::open(&load.url, load.era).await?;
            let request = client.prepare(load.work);
            callers.push(Http { client, request, work: load.work });
        }
        Ok(callers)
    };
    let opened = tokio::time::timeout(TIMEOUT, opening).await;
    let callers = opened.map_err(|_| Fault::Slow("accept all connections"))??;
    drive(callers, load.pid, load.timing).await
}

/// Lets all callers call until the window is over.
pub(crate) async fn drive<C: Caller>(
    callers: Vec<C>,
    pid: u32,
    timing: Timing,
) -> Result<Sample, Fault> {
    let limit = timing.warm_up() + timing.window() + TIMEOUT;
    let late = |_| Fault::Slow("answer all calls");
    tokio::time::timeout(limit, measure(callers, pid, timing)).await.map_err(late)?
}

async fn measure<C: Caller>(callers: Vec<C>, pid: u32, timing: Timing) -> Result<Sample, Fault> {
    let window = Arc::new(Window::default());
    let mut loops = JoinSet::new();
    for (number, caller) in (0..).zip(callers) {
        let first = FIRST_ID + number * IDS_PER_CALLER;
        loops.spawn(repeat(caller, first, timing.pace(), Arc::clone(&window)));
    }
    tokio::time::sleep(timing.warm_up()).await;
    let meter = Meter::start(pid)?;
    window.open();
    tokio::time::sleep(timing.window()).await;
    window.close();
    let usage = meter.stop()?;
    window.end();

    let mut times = Vec::new();
    while let Some(joined) = loops.join_next().await {
        times.extend(joined.map_err(|error| Fault::Load(error.to_string()))??);
    }
    Ok(usage.sample(times))
}

/// One caller's loop; returns the time of each call that ended inside the window.
async fn repeat(
    mut caller: impl Caller,
    first: u64,
    pace: Option<Duration>,
    window: Arc<Window>,
) -> Result<Vec<Duration>, Fault> {
    let mut times = Vec::new();
    for id in first.. {
        let took = caller.call(id).await?;
        if !window.note(&mut times, took) {
            break;
        }
        if let Some(pace) = pace {
            tokio::time::sleep(pace).await;
        }
    }
    Ok(times)
}
