//! The closed loop: each connection sends its next call when the answer to the last one has been
//! checked. Runs in a process of its own on one thread, and reads the server's CPU time at both ends
//! of the window.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::client::request::{Address, Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::process::usage;

const IDS_PER_CONNECTION: u64 = 10_000_000;
/// What the handshakes before and the last answers after the window may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to send, where, and for how long.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Load {
    /// The server's endpoint.
    #[arg(long)]
    pub(crate) url: Address,
    /// The server's process, whose CPU time is read.
    #[arg(long)]
    pub(crate) pid: u32,
    #[arg(long, value_enum, default_value = "modern")]
    pub(crate) era: Era,
    #[arg(long, value_enum, default_value = "echo")]
    pub(crate) work: Work,
    /// Connections, each with one call in flight.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=80))]
    pub(crate) connections: u16,
    /// Time before the window, in milliseconds.
    #[arg(long, default_value_t = 300)]
    pub(crate) warm_up: u64,
    /// Length of the window, in milliseconds.
    #[arg(long, default_value_t = 3000)]
    pub(crate) window: u64,
}

/// What one window showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) calls_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// CPU time of the server's process for each call.
    pub(crate) cpu_us: f64,
    /// Memory of the server's process at the end of the window.
    pub(crate) resident: u64,
}

/// What the connections and the clock share.
#[derive(Default)]
struct Window {
    open: AtomicBool,
    done: AtomicBool,
    calls: AtomicU64,
}

/// Runs the load to its end; a server that stops answering ends it too.
pub(crate) async fn run(load: &Load) -> Result<Sample, Fault> {
    let limit = Duration::from_millis(load.warm_up + load.window) + PATIENCE;
    let late = |_| Fault::Slow("answer all calls");
    tokio::time::timeout(limit, measure(load)).await.map_err(late)?
}

async fn measure(load: &Load) -> Result<Sample, Fault> {
    let window = Arc::new(Window::default());
    let mut connections = JoinSet::new();
    for number in 0..load.connections {
        let client = Client::open(&load.url, load.era).await?;
        let first = FIRST_ID + u64::from(number) * IDS_PER_CONNECTION;
        connections.spawn(repeat(client, load.work, first, Arc::clone(&window)));
    }
    tokio::time::sleep(Duration::from_millis(load.warm_up)).await;
    let (before, began) = (usage::cpu_time(load.pid)?, Instant::now());
    window.open.store(true, Relaxed);
    tokio::time::sleep(Duration::from_millis(load.window)).await;
    window.open.store(false, Relaxed);
    let (after, lasted) = (usage::cpu_time(load.pid)?, began.elapsed());
    let resident = usage::resident(load.pid)?;
    window.done.store(true, Relaxed);

    let mut times = Vec::new();
    while let Some(joined) = connections.join_next().await {
        times.extend(joined.map_err(|error| Fault::Load(error.to_string()))??);
    }
    times.sort_unstable();
    let calls = window.calls.load(Relaxed).max(1) as f64;
    Ok(Sample {
        calls_per_second: calls / lasted.as_secs_f64(),
        p50_us: quantile(&times, 0.50),
        p99_us: quantile(&times, 0.99),
        cpu_us: (after - before).as_secs_f64() * 1e6 / calls,
        resident,
    })
}

/// One connection's loop; returns the time of each call that ended inside the window.
async fn repeat(
    mut client: Client,
    work: Work,
    first: u64,
    window: Arc<Window>,
) -> Result<Vec<Duration>, Fault> {
    let mut request = client.prepare(work);
    let mut times = Vec::new();
    for id in first.. {
        request.number(id);
        let sent = Instant::now();
        client.send(&request).await?;
        let took = sent.elapsed();
        answer::check(client.body(), work, id)?;
        if window.open.load(Relaxed) {
            window.calls.fetch_add(1, Relaxed);
            times.push(took);
        } else if window.done.load(Relaxed) {
            break;
        }
    }
    Ok(times)
}

/// The value below which the given share of sorted times lies, in microseconds.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_hundred_and_one_values() {
        let times: Vec<_> = (0..=100).map(Duration::from_micros).collect();
        for (share, expected) in [(0.0, 0.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            assert!((quantile(&times, share) - expected).abs() < 1e-6);
        }
        assert!(quantile(&[], 0.5).is_nan());
    }
}
