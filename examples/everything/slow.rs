//! Tools that take their time: one that can be watched and cancelled, one that lets its client
//! hang up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gantry::{Context, Failure, Json, ServerBuilder, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use crate::tools::Nothing;

/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);

/// Adds the tools.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    let counts = Arc::new(Counts::default());
    let status = counts.clone();
    server
        .tool(Tool::new("test_slow", "Waits as long as it is told.").run(
            move |wait: Wait, context| {
                let counts = counts.clone();
                async move { slow(wait, &context, &counts).await }
            },
        ))
        .tool(Tool::new("test_slow_status", "Counts the calls of `test_slow`.").run(
            move |_: Nothing, _| {
                let status = status.status();
                async move { Ok(Json(status)) }
            },
        ))
        .tool(
            Tool::new("test_reconnection", "Lets the client hang up and return.")
                .call_back(REPORT)
                .run(reconnect),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// How long to wait, in seconds.
    #[serde(default = "half_a_minute")]
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
}

fn half_a_minute() -> f64 {
    30.0
}

async fn slow(wait: Wait, context: &Context, counts: &Counts) -> Result<&'static str, Failure> {
    let run = Run::start(counts);
    let start = Instant::now();
    let end = start + Duration::try_from_secs_f64(wait.seconds)?;
    while Instant::now() < end {
        sleep_until(end.min(Instant::now() + REPORT)).await;
        context.progress(start.elapsed().as_secs_f64(), Some(wait.seconds), None);
    }
    run.finish();
    Ok("done")
}

/// How calls of `test_slow` went.
#[derive(Debug, Default)]
struct Counts {
    started: AtomicU64,
    finished: AtomicU64,
    cancelled: AtomicU64,
}

/// The same at one moment.
#[derive(Debug, Serialize, JsonSchema)]
struct Status {
    started: u64,
    finished: u64,
    cancelled: u64,
}

impl Counts {
    fn status(&self) -> Status {
        Status {
            started: self.started.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
            cancelled: self.cancelled.load(Ordering::Relaxed),
        }
    }
}

/// One call under way. A cancelled call is dropped where it waits, so that one which is dropped
/// without having finished was cancelled.
struct Run<'a> {
    counts: &'a Counts,
    finished: bool,
}

impl<'a> Run<'a> {
    fn start(counts: &'a Counts) -> Self {
        counts.started.fetch_add(1, Ordering::Relaxed);
        Self { counts, finished: false }
    }

    fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let count = if self.finished { &self.counts.finished } else { &self.counts.cancelled };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

async fn reconnect(_: Nothing, _: Context) -> Result<&'static str, Failure> {
    sleep(REPORT).await;
    Ok("The client hung up and came back.")
}
