//! The OTLP exporter: takes spans and records from the queue, batches them, and posts them as JSON.
//! A failed request is retried a few times; then its data is dropped, and logged once.
//!
//! The usual libraries would bring a second HTTP stack and protocol buffers for this one POST.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use gantry_client::Post;
use serde_json::Value;
use tokio::select;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::telemetry::{
    Counts, Fate, Item, ObservedCall, ObservedRecord, TelemetrySettings, encode,
};

/// Sends what is in the queue.
pub(crate) struct Exporter {
    post: Post,
    items: mpsc::Receiver<Item>,
    settings: TelemetrySettings,
    counts: Arc<Counts>,
    /// Whether the last try failed, so that it is told only once.
    failing: bool,
    stopping: bool,
}

impl Exporter {
    pub(crate) fn new(
        post: Post,
        items: mpsc::Receiver<Item>,
        settings: &TelemetrySettings,
        counts: Arc<Counts>,
    ) -> Self {
        let settings = settings.clone();
        Self { post, items, settings, counts, failing: false, stopping: false }
    }

    /// Runs until it is stopped and everything is sent.
    pub(crate) async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            let load_state = self.gather(&mut stopped).await;
            if load_state.is_empty() && self.stopping {
                return;
            }
            self.send(load_state).await;
        }
    }

    /// The next batch: as much as fits, or what comes within a moment of the first.
    async fn gather(&mut self, stopped: &mut oneshot::Receiver<()>) -> Vec<Item> {
        let batch = self.settings.batch.max(1);
        let mut load_state = Vec::new();
        let mut deadline = None;
        while load_state.len() < batch {
            if !load_state.is_empty() && deadline.is_none() {
                deadline = Some(Instant::now() + self.settings.gather);
            }
            let room = batch - load_state.len();
            select! {
                biased;
                _ = &mut *stopped, if !self.stopping => {
                    self.stopping = true;
                    self.items.close();
                }
                count = self.items.recv_many(&mut load_state, room) => if count == 0 {
                    break;
                },
                () = passed(deadline) => break,
            }
        }
        load_state
    }

    async fn send(&mut self, items: Vec<Item>) {
        let (mut calls, mut records) = (Vec::<ObservedCall>::new(), Vec::<ObservedRecord>::new());
        let mut spans = 0;
        for item in items {
            spans += if matches!(item, Item::Call(_)) { item.weight() } else { 0 };
            match item {
                Item::Call(call) => calls.push(*call),
                Item::Record(record) => records.push(record),
            }
        }
        let service = self.settings.service.clone();
        if !calls.is_empty() {
            let sent = self.post("/v1/traces", &encode::spans(&service, &calls)).await;
            self.counts.spans.count(sent, spans);
        }
        if !records.is_empty() {
            let sent = self.post("/v1/logs", &encode::records(&service, &records)).await;
            self.counts.records.count(sent, records.len() as u64);
        }
    }

    /// Posts a body, more than once if it must be. Whether it was taken.
    async fn post(&mut self, path: &str, body: &Value) -> bool {
        let body = bytes::Bytes::from(body.to_string());
        let mut wait = self.settings.first_wait;
        for attempt in 1..=self.settings.tries.max(1) {
            let posted = self.post.below(path, body.clone());
            let failure = match timeout(self.settings.send_within, posted).await {
                Ok(Ok(status @ 200..=299)) => return self.taken(status),
                Ok(Ok(status)) => (format!("it answers {status}"), is_passing(status)),
                Ok(Err(error)) => (error.to_string(), true),
                Err(_) => (format!("no answer within {:?}", self.settings.send_within), true),
            };
            let (reason, passing) = failure;
            if !passing || attempt == self.settings.tries {
                self.lost(path, &reason);
                return false;
            }
            sleep(wait).await;
            wait *= 2;
        }
        false
    }

    fn taken(&mut self, status: u16) -> bool {
        if std::mem::take(&mut self.failing) {
            tracing::info!(status, "the telemetry collector accepts data again");
        }
        true
    }

    fn lost(&mut self, path: &str, reason: &str) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(
                path,
                reason,
                "the telemetry collector does not accept data; traces and records are dropped"
            );
        }
    }
}

impl Fate {
    fn count(&self, sent: bool, number: u64) {
        let count = if sent { &self.sent } else { &self.dropped };
        count.fetch_add(number, Relaxed);
    }
}

/// Waits until then; for ever when there is no then.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Whether it is worth trying again (OTLP specification, failures).
fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}
