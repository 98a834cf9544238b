//! Retries of transient failures with backoff, and of tool calls that were refused for their
//! headers. A request that the server may have begun is repeated only if it is repeatable: a list,
//! a read, or a tool that is annotated as read-only or idempotent.

use std::time::Duration;

use gantry_protocol::{Method, RawJson, code, headers};
use tokio::time::{Instant, sleep};

use super::Client;
use super::conn_state::{Command, Shared};
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::{ChangedList, Event};
use crate::peer::Peer;
use crate::request::{List, Request};

/// One request and its attempts.
pub(super) struct Attempts<'a> {
    shared: &'a Shared,
    is_repeatable: bool,
    ends_at: Option<Instant>,
    made: u32,
}

impl<'a> Attempts<'a> {
    /// The first attempt was begun then, and all may take so long together.
    pub(super) fn new(
        shared: &'a Shared,
        is_repeatable: bool,
        begun: Instant,
        at_most: Duration,
    ) -> Self {
        Self { shared, is_repeatable, ends_at: begun.checked_add(at_most), made: 1 }
    }

    /// Whether an error may be transient. Most are not, and most requests need to know no more.
    pub(super) fn may_pass(error: &ClientError) -> bool {
        matches!(
            error,
            ClientError::ConnectionRefused(_) | ClientError::Reset(_) | ClientError::Http(_)
        )
    }

    /// Waits before the next attempt, and returns the time that is left for it. Returns the error
    /// if there must be no retry: for its kind, since the request may have run and must not run
    /// twice, or because there is no time left or too many requests wait.
    pub(super) async fn next(&mut self, error: ClientError) -> Result<Duration, ClientError> {
        let settings = &self.shared.settings.retry;
        let wait = pause(&error, self.is_repeatable)
            .filter(|asked| self.made < settings.attempts && *asked <= settings.retry_after)
            .map(|asked| asked.max(settings.backoff.after(self.made)));
        let now = Instant::now();
        let wait = wait.filter(|wait| self.ends_at.is_none_or(|ends_at| now + *wait < ends_at));
        let place = self.shared.retrying.try_acquire();
        let (Some(wait), Ok(_place)) = (wait, place) else { return Err(error.after(self.made)) };
        tracing::debug!(%error, ?wait, attempt = self.made, "a request is made again");
        sleep(wait).await;
        self.made += 1;
        // Reconnect now, and not after the reconnector's own backoff.
        if error.is_unsent() {
            self.shared.command(Command::ConnectNow).await;
        }
        let left = self.ends_at.map(|ends_at| ends_at.saturating_duration_since(Instant::now()));
        Ok(left.unwrap_or(Duration::MAX))
    }

    /// The error of the last attempt.
    pub(super) fn give_up(&self, error: ClientError) -> ClientError {
        error.after(self.made)
    }
}

/// The shortest wait before a retry; none if there must be none. What was not sent may always be
/// sent again, anything else only if it is repeatable.
fn pause(error: &ClientError, is_repeatable: bool) -> Option<Duration> {
    match error {
        ClientError::ConnectionRefused(_) => Some(Duration::ZERO),
        ClientError::Reset(_) if is_repeatable => Some(Duration::ZERO),
        ClientError::Http(error) if is_repeatable || error.is_unsent => match error.status {
            502 | 503 => Some(error.retry_after.unwrap_or_default()),
            // Without the header there is nothing to wait for.
            429 => error.retry_after,
            _ => None,
        },
        _ => None,
    }
}

/// Whether a call was refused for its headers before anything ran (2026-07-28, Streamable HTTP).
/// For legacy servers the code may mean anything.
pub(super) fn is_header_mismatch(peer: &Peer, request: &Request, error: &ClientError) -> bool {
    let ClientError::Answered(error) = error else { return false };
    error.code == code::HEADER_MISMATCH
        && request.method == Method::ToolsCall
        && peer.revision.is_stateless()
}

impl Client {
    /// The same call with the headers of a fresh tool definition; none if they are the same.
    pub(super) async fn with_fresh_headers(
        &self,
        request: &Request,
        connection: &Connection,
    ) -> Option<Request> {
        let name = request.params.get("name")?.to_text()?;
        // The cached definition is the one that failed.
        self.forget(List::Tools);
        let listed = self.list(List::Tools).await.ok()?;
        let named = |tool: &RawJson| tool.get("name").and_then(|name| name.to_text());
        let tool = listed.items.iter().find(|tool| named(tool).as_deref() == Some(&name))?;
        let demand = headers::argument_headers(&tool.get("inputSchema")?).ok()?;
        if *demand == *request.headers {
            return None;
        }
        // Others still use the old list.
        connection.tell(Event::ListChanged(ChangedList::Tools));
        Some(Request { headers: demand.into(), ..request.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::HttpError;

    #[test]
    fn what_is_made_again() {
        let http = |status, retry_after: Option<u64>, is_unsent| {
            let retry_after = retry_after.map(Duration::from_secs);
            let error = HttpError { status, retry_after, error: None, is_unsent, attempts: 1 };
            ClientError::Http(Box::new(error))
        };
        let text = || "gone".to_owned();
        // The waits of a repeatable request, and of one that is not.
        let cases = [
            (ClientError::ConnectionRefused(text()), Some(0), Some(0)),
            (ClientError::Reset(text()), Some(0), None),
            (ClientError::Lost(text()), None, None),
            (ClientError::Unreachable(text()), None, None),
            (ClientError::Malformed(text()), None, None),
            (ClientError::Timeout(Duration::from_secs(1)), None, None),
            (ClientError::Unauthorized { status: 401, challenge: None }, None, None),
            (ClientError::Busy(1), None, None),
            (http(502, None, false), Some(0), None),
            (http(503, None, false), Some(0), None),
            (http(503, Some(7), false), Some(7), None),
            (http(503, None, true), Some(0), Some(0)),
            (http(429, Some(7), false), Some(7), None),
            (http(429, Some(7), true), Some(7), Some(7)),
            (http(429, None, false), None, None),
            (http(500, Some(7), false), None, None),
            (http(504, None, false), None, None),
            (http(404, None, false), None, None),
        ];
        for (error, repeatable, other) in cases {
            let waits = [true, false].map(|is_repeatable| pause(&error, is_repeatable));
            let expected = [repeatable, other].map(|wait| wait.map(Duration::from_secs));
            assert_eq!(waits, expected, "{error:?}");
            assert!(expected[0].is_none() || Attempts::may_pass(&error), "{error:?}");
        }
    }
}
