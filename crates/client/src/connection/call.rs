//! One request, from sending to response: it is registered as pending, composed for the server's
//! revision, and then receives progress, log messages and server requests until the response or a
//! timeout. Params are read once, and the future stays small: what few calls need waits on the
//! heap.

use super::dispatch::dispatch;
use super::negotiate::check_era;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Id, Level, Method, ParamsHead, RawJson, jsonrpc};
use http::{HeaderName, HeaderValue};
use tokio::select;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use super::connection_inner::{ConnectionInner, Negotiated};
use super::dispatch::cancelled;
use super::pending_requests::{Inbound, PendingRequest, RequestInfo};
use super::response_stream::{ResponseEvent, ResponseStream};
use super::server_requests::OpenInputRequests;
use super::{compose, response};
use crate::error::ClientError;
use crate::request::{Answer, Request};
use crate::request_handler::{NoopHandler, RequestHandler};

/// The response to a request of the connection itself.
pub(super) struct RawResponse {
    pub(super) outcome: Result<Result<RawJson, RawJson>, ClientError>,
    /// The session id in the response.
    pub(super) session: Option<String>,
    /// The HTTP status of a refusal.
    pub(super) refused: Option<u16>,
}

/// Sends a request and waits for the response.
pub(super) async fn send_request(
    inner: &ConnectionInner,
    request: &Request,
    handler: &dyn RequestHandler,
) -> Result<Answer, ClientError> {
    let negotiated = inner.negotiated().ok_or_else(|| inner.closed_error())?;
    let revision = negotiated.revision();
    let settings = &inner.settings;
    let silence = request.silence.unwrap_or(settings.silence);
    let at_most = request.at_most.unwrap_or(settings.at_most);
    // Boxed, like everything that a call seldom awaits: it would make the future of every call
    // larger.
    if let Some(level) = new_log_level(inner, request) {
        Box::pin(set_log_level(inner, level)).await;
    }
    let _exclusive = match is_exclusive(inner, request) {
        true => {
            let turn = Box::pin(timeout(at_most, inner.exclusive.acquire())).await;
            Some(turn.map_err(|_| ClientError::Timeout(at_most))?)
        }
        false => None,
    };
    let PreparedRequest { mut in_flight, message, mut headers } =
        prepare(inner, negotiated, request, handler)?;
    if let Some(trace) = request.trace.as_ref().filter(|_| !inner.is_pipe()) {
        headers.extend(compose::trace_headers(trace));
    }
    let mut timeouts = RequestTimeout::start(silence, at_most);
    let mut stream = select! {
        // There is nearly always room in the pipe, and then no timer has to be set.
        biased;
        sent = ResponseStream::send(inner, message, headers) => sent?,
        time = timeouts.expired() => return Err(ClientError::Timeout(time)),
    };
    let RawResponse { outcome, refused, .. } =
        in_flight.run_to_response(&mut stream, handler, &mut timeouts).await;
    let is_task = compose::requests_task(negotiated, request);
    let answer = match outcome {
        Ok(outcome) => response::read(revision, request, is_task, outcome).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) => Err(Box::pin(check_era(inner, refused, error)).await),
    }
}

/// Sends a request of the connection itself, with a timeout. No cancellation is sent for it: the
/// first ones precede the end of negotiation.
pub(super) async fn exchange(
    inner: &ConnectionInner,
    method: Method,
    params: &RawJson,
    headers: Vec<(HeaderName, HeaderValue)>,
    within: Duration,
) -> RawResponse {
    let failed = |error| RawResponse { outcome: Err(error), session: None, refused: None };
    let mut in_flight = match InFlightRequest::register(inner, RequestInfo::own(method.clone())) {
        Ok(in_flight) => in_flight,
        Err(error) => return failed(error),
    };
    in_flight.no_cancellation = true;
    let id = Id::number(in_flight.call.id);
    let message = jsonrpc::request(&id, method.as_str(), Some(params));
    let mut timeouts = RequestTimeout::start(within, within);
    let sent = select! {
        biased;
        sent = ResponseStream::send(inner, message, headers) => sent,
        time = timeouts.expired() => Err(ClientError::Timeout(time)),
    };
    match sent {
        Ok(mut stream) => in_flight.run_to_response(&mut stream, &NoopHandler, &mut timeouts).await,
        Err(error) => failed(error),
    }
}

/// Sets the log level of a legacy server.
async fn set_log_level(inner: &ConnectionInner, level: Level) {
    let params = ObjectWriter::new().value("level", &level).finish();
    // The call waits for this, so the timeout is short.
    let within = inner.settings.probe_within;
    let told = exchange(inner, Method::SetLevel, &params, Vec::new(), within).await;
    if let Err(error) = told.outcome {
        tracing::debug!(%error, "the server could not be told how much to log");
    }
}

/// A request in flight. Dropping it before the response sends a cancellation.
pub(super) struct InFlightRequest<'a> {
    inner: &'a ConnectionInner,
    pub(super) call: Arc<PendingRequest>,
    /// Whether no cancellation must be sent on drop.
    no_cancellation: bool,
}

impl<'a> InFlightRequest<'a> {
    pub(super) fn register(
        inner: &'a ConnectionInner,
        info: RequestInfo,
    ) -> Result<Self, ClientError> {
        Ok(Self { inner, call: inner.pending_requests.register(info)?, no_cancellation: false })
    }

    /// Receives messages until the response.
    async fn run_to_response(
        &mut self,
        stream: &mut ResponseStream,
        handler: &dyn RequestHandler,
        timeouts: &mut RequestTimeout,
    ) -> RawResponse {
        let outcome = self.exchange_messages(stream, handler, timeouts).await;
        self.no_cancellation |= !matches!(outcome, Err(ClientError::Timeout(_)));
        if outcome.is_ok() {
            stream.finish();
        }
        RawResponse { outcome, session: stream.session.take(), refused: stream.refused }
    }

    async fn exchange_messages(
        &self,
        stream: &mut ResponseStream,
        handler: &dyn RequestHandler,
        timeouts: &mut RequestTimeout,
    ) -> Result<Result<RawJson, RawJson>, ClientError> {
        let mut open_requests = OpenInputRequests::new(self.inner, handler);
        let outcome =
            self.receive_until_response(stream, handler, timeouts, &mut open_requests).await;
        if outcome.is_ok() {
            open_requests.flush_responses().await;
        }
        outcome
    }

    async fn receive_until_response(
        &self,
        stream: &mut ResponseStream,
        handler: &dyn RequestHandler,
        timeouts: &mut RequestTimeout,
        open_requests: &mut OpenInputRequests<'_>,
    ) -> Result<Result<RawJson, RawJson>, ClientError> {
        let (mut logging, mut is_begun): (Option<BoxFuture<'_, ()>>, bool) = (None, false);
        loop {
            select! {
                biased;
                () = open_requests.next_finished() => if open_requests.is_empty() {
                    timeouts.resume();
                },
                () = log_finished(&mut logging) => logging = None,
                // Polled before the sources that may always be ready: a flood must not starve the
                // timeout.
                time = timeouts.expired(), if !timeouts.is_paused() => {
                    return Err(ClientError::Timeout(time));
                }
                inbound = self.call.mailbox.next(), if logging.is_none() => match inbound {
                    Inbound::Answer(outcome) => return Ok(outcome),
                    Inbound::Malformed(reason) => return Err(ClientError::Malformed(reason)),
                    Inbound::Lost(reason) => {
                        return Err(match is_begun {
                            true => ClientError::Lost(reason),
                            false => ClientError::Reset(reason),
                        });
                    }
                    Inbound::Progress(params) => {
                        is_begun = true;
                        timeouts.reset_idle();
                        handler.progress(params);
                    }
                    Inbound::Log(level, params) => {
                        is_begun = true;
                        logging = Some(handler.log(level, params));
                    }
                    Inbound::InputRequest(request_) => {
                        is_begun = true;
                        timeouts.pause();
                        open_requests.ask(request_);
                    }
                    Inbound::Cancelled(id) => open_requests.cancel(&id),
                    Inbound::Acknowledged => {}
                },
                decoded = stream.next_event(self.inner), if logging.is_none() => match decoded? {
                    Some(ResponseEvent::Message(decoded)) => {
                        is_begun = true;
                        dispatch(self.inner, decoded, Some(&self.call));
                    }
                    Some(ResponseEvent::HangUp(retry)) => handler.hang_up(retry),
                    None => return Err(ClientError::Lost(
                        "the server ended the response without an answer".to_owned(),
                    )),
                },
            }
        }
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        let unanswered = self.inner.pending_requests.remove(self.call.id).is_some();
        // A modern server over HTTP is told by the end of its response.
        if unanswered && !self.no_cancellation && !self.inner.is_stateless_http() {
            self.inner.tell(cancelled(self.call.id, "the caller no longer waits for the response"));
        }
    }
}

/// Waits until the handler has taken the log message; for ever when there is none.
async fn log_finished(logging: &mut Option<BoxFuture<'_, ()>>) {
    match logging {
        Some(logging) => logging.await,
        None => std::future::pending().await,
    }
}

/// A registered request, and its message as it will be sent.
pub(super) struct PreparedRequest<'a> {
    pub(super) in_flight: InFlightRequest<'a>,
    pub(super) message: Bytes,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Registers a request and composes its message.
pub(super) fn prepare<'a>(
    inner: &'a ConnectionInner,
    negotiated: &Negotiated,
    request: &Request,
    handler: &dyn RequestHandler,
) -> Result<PreparedRequest<'a>, ClientError> {
    let revision = negotiated.revision();
    let read;
    let head = match &request.head {
        Some(head) => head,
        None => {
            read = ParamsHead::read(&request.params);
            &read
        }
    };
    // Only the attribution of a server request needs the identity, see `server_requests`.
    let identity = match revision.is_stateless() {
        true => String::new(),
        false => handler.identity().to_owned(),
    };
    let (method, name) = (request.method.clone(), named(request, head));
    let info = RequestInfo { method, name, identity, log_level: request.log_level };
    let in_flight = InFlightRequest::register(inner, info)?;
    let PendingRequest { id, info, .. } = &*in_flight.call;
    let params = compose::params(&inner.settings, negotiated, request, head, *id);
    let message = jsonrpc::request(&Id::number(*id), request.method.as_str(), Some(&params));
    let headers = match revision.is_stateless() && !inner.is_pipe() {
        true => compose::repeated_headers(revision, request, head, info.name.as_deref()),
        false => Vec::new(),
    };
    Ok(PreparedRequest { in_flight, message, headers })
}

/// Whether a call has to wait until no other call of its kind is in flight.
pub(super) fn is_exclusive(inner: &ConnectionInner, request: &Request) -> bool {
    let name = || named(request, &ParamsHead::read(&request.params));
    request.method == Method::ToolsCall && inner.pending_requests.is_exclusive(name)
}

/// The log level to set first, when the request wants a lower one than the server was given.
pub(super) fn new_log_level(inner: &ConnectionInner, request: &Request) -> Option<Level> {
    let (level, negotiated) = (request.log_level?, inner.negotiated()?);
    let tells = !negotiated.revision().is_stateless() && inner.is_lower(level);
    let told = tells && negotiated.peer.has(&["logging"]) && inner.record_level(level);
    told.then_some(level)
}

/// The tool, prompt, resource or task of the request.
fn named(request: &Request, head: &ParamsHead) -> Option<String> {
    match request.method {
        Method::TasksResult => request.params.get("taskId")?.to_text(),
        _ => compose::name(request, head),
    }
}

/// Far enough away to never come.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

#[derive(Debug)]
pub(super) struct RequestTimeout {
    silence: Duration,
    at_most: Duration,
    last_activity: Instant,
    started: Instant,
    paused: Option<Instant>,
    /// Reused between waits: to register a new timer costs more than to check this one again.
    timer: Pin<Box<Sleep>>,
}

impl RequestTimeout {
    pub(super) fn start(silence: Duration, at_most: Duration) -> Self {
        let now = Instant::now();
        let timer = Box::pin(sleep_until(now + silence.min(at_most).min(NEVER)));
        Self { silence, at_most, last_activity: now, started: now, paused: None, timer }
    }

    /// Restarts the idle timeout.
    pub(super) fn reset_idle(&mut self) {
        self.last_activity = Instant::now();
    }

    /// Pauses both timeouts.
    pub(super) fn pause(&mut self) {
        self.paused.get_or_insert_with(Instant::now);
    }

    /// Resumes after a pause.
    pub(super) fn resume(&mut self) {
        if let Some(paused) = self.paused.take() {
            self.started += paused.elapsed();
            self.last_activity = Instant::now();
        }
    }

    /// Whether it is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Waits for the first of both timeouts, and returns its length.
    pub(super) async fn expired(&mut self) -> Duration {
        let silent = self.last_activity + self.silence.min(NEVER);
        let over = self.started + self.at_most.min(NEVER);
        let first = silent.min(over);
        if self.timer.deadline() != first {
            self.timer.as_mut().reset(first);
        }
        self.timer.as_mut().await;
        if over <= silent { self.at_most } else { self.silence }
    }
}
