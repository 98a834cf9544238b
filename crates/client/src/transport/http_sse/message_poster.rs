//! Messages to the server: a POST for each, in order.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson, RpcError, code};
use http::Uri;
use http::header::{self, HeaderMap, HeaderValue};
use tokio::sync::mpsc;

use crate::http::{Http, Request};
use crate::settings::Settings;

/// How long to wait for a POST before the next message is sent in parallel. A server may work
/// before it accepts a message, and send a request meanwhile: the response must not wait behind it.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes of an accepted response that are read.
const RESPONSE_LIMIT: usize = 4 * 1024;

/// Sends messages.
#[derive(Debug)]
pub(super) struct MessagePoster {
    http: Arc<Http>,
    target: Uri,
    headers: HeaderMap,
    limits: JsonLimits,
    at_once: usize,
    grace: Duration,
    back: mpsc::Sender<Result<Bytes, String>>,
}

impl MessagePoster {
    pub(super) fn new(
        http: Arc<Http>,
        target: Uri,
        settings: &Settings,
        back: mpsc::Sender<Result<Bytes, String>>,
    ) -> Self {
        let mut headers = http.headers().clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (limits, at_once) = (settings.message, settings.in_flight);
        Self { http, target, headers, limits, at_once, grace: settings.grace, back }
    }

    /// Sends messages until there will be no more.
    pub(super) async fn run(self, mut messages: mpsc::Receiver<Bytes>) {
        let mut slow = FuturesUnordered::new();
        loop {
            let message = tokio::select! {
                Some(()) = slow.next(), if !slow.is_empty() => continue,
                message = messages.recv(), if slow.len() < self.at_once => message,
            };
            let Some(message) = message else { break };
            let mut post = Box::pin(self.post(message));
            let slow_timer = tokio::time::sleep(TIMEOUT);
            tokio::pin!(slow_timer);
            loop {
                tokio::select! {
                    () = &mut post => break,
                    Some(()) = slow.next(), if !slow.is_empty() => {}
                    () = &mut slow_timer => {
                        slow.push(post);
                        break;
                    }
                }
            }
        }
        let _ = tokio::time::timeout(self.grace, slow.collect::<()>()).await;
    }

    async fn post(&self, message: Bytes) {
        let post = Request::post(&self.target, &self.headers, &message);
        let why = match self.http.send(post).await {
            Ok((head, body)) if head.status.is_success() => {
                body.beginning(RESPONSE_LIMIT).await;
                return;
            }
            Ok((head, _)) => format!(
                "`{}` did not accept the message: HTTP status {}",
                self.http.origin(),
                head.status
            ),
            Err(error) => error.to_string(),
        };
        match self.refusal(&message, &why) {
            Some(refusal) => drop(self.back.send(Ok(refusal)).await),
            None => tracing::warn!(%why, "a message to the server was lost"),
        }
    }

    /// A request that was not accepted is answered in the server's place, so that its caller does
    /// not wait.
    fn refusal(&self, message: &Bytes, why: &str) -> Option<Bytes> {
        let message = RawJson::parse(message.clone(), self.limits).ok()?;
        let id = message.get("id").filter(|_| message.get("method").is_some())?;
        let error = RpcError::new(code::INTERNAL_ERROR, why);
        let refusal = ObjectWriter::new()
            .value("jsonrpc", "2.0")
            .raw("id", &id)
            .raw("error", &error.to_json())
            .finish();
        Some(Bytes::from(refusal.as_str().to_owned()))
    }
}
