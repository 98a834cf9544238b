//! One request from its sending to its answer: progress, log messages and questions on the way,
//! and the clock.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Id, Level, Method, RawJson, jsonrpc};
use http::{HeaderName, HeaderValue};
use tokio::select;
use tokio::time::timeout;

use super::asking::Asking;
use super::begin::Begun;
use super::clock::Clock;
use super::connection_inner::ConnectionInner;
use super::hear::cancelled;
use super::mailbox::Inbound;
use super::pending_requests::{About, Call};
use super::source::{Source, Step};
use super::{answer, compose};
use crate::error::ClientError;
use crate::request::{Answer, Request};
use crate::request_handler::{NoopHandler, RequestHandler};

/// A request of the connection's own, and what came of it.
pub(super) struct PendingCall {
    pub(super) outcome: Result<Result<RawJson, RawJson>, ClientError>,
    /// The session that the server named.
    pub(super) session: Option<String>,
    /// The HTTP status that it refused with.
    pub(super) refused: Option<u16>,
}

impl ConnectionInner {
    /// Asks for something and waits for the answer.
    pub(super) async fn request(
        &self,
        request: &Request,
        line: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        let agreed = self.agreed().ok_or_else(|| self.gone())?;
        let revision = agreed.revision();
        let settings = &self.settings;
        let silence = request.silence.unwrap_or(settings.silence);
        let at_most = request.at_most.unwrap_or(settings.at_most);
        // On the heap, like all that a call seldom waits for: it would make every call larger.
        if let Some(level) = self.unheard_level(request) {
            Box::pin(self.want_level(level)).await;
        }
        let _turn = match self.runs_alone(request) {
            true => {
                let turn = Box::pin(timeout(at_most, self.alone.acquire())).await;
                Some(turn.map_err(|_| ClientError::Timeout(at_most))?)
            }
            false => None,
        };
        let Begun { mut in_flight, message, mut headers } = self.begin(agreed, request, line)?;
        if let Some(trace) = request.trace.as_ref().filter(|_| !self.is_pipe()) {
            headers.extend(compose::traced(trace));
        }
        let mut clock = Clock::start(silence, at_most);
        let mut source = select! {
            // Mostly there is room at once, and then no timer need be set.
            biased;
            sent = Source::send(self, message, headers) => sent?,
            time = clock.run_out() => return Err(ClientError::Timeout(time)),
        };
        let PendingCall { outcome, refused, .. } =
            in_flight.hear_out(&mut source, line, &mut clock).await;
        let is_task = compose::requests_task(agreed, request);
        let answer = match outcome {
            Ok(outcome) => answer::read(revision, request, is_task, outcome).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(Box::pin(self.judged(refused, error)).await),
        }
    }

    /// Makes a request of the connection's own, within so much time. No cancellation is sent for
    /// it: the first ones come before the server is to hear of anything else.
    pub(super) async fn exchange(
        &self,
        method: Method,
        params: &RawJson,
        headers: Vec<(HeaderName, HeaderValue)>,
        within: Duration,
    ) -> PendingCall {
        let failed = |error| PendingCall { outcome: Err(error), session: None, refused: None };
        let mut in_flight = match InFlightRequest::begin(self, About::own(method.clone())) {
            Ok(in_flight) => in_flight,
            Err(error) => return failed(error),
        };
        in_flight.quiet = true;
        let id = Id::number(in_flight.call.id);
        let message = jsonrpc::request(&id, method.as_str(), Some(params));
        let mut clock = Clock::start(within, within);
        let sent = select! {
            biased;
            sent = Source::send(self, message, headers) => sent,
            time = clock.run_out() => Err(ClientError::Timeout(time)),
        };
        match sent {
            Ok(mut source) => in_flight.hear_out(&mut source, &NoopHandler, &mut clock).await,
            Err(error) => failed(error),
        }
    }

    /// Tells an older server how much to log.
    async fn want_level(&self, level: Level) {
        let params = ObjectWriter::new().value("level", &level).finish();
        // The call waits for this, so it must not take long.
        let within = self.settings.probe_within;
        let told = self.exchange(Method::SetLevel, &params, Vec::new(), within).await;
        if let Err(error) = told.outcome {
            tracing::debug!(%error, "the server could not be told how much to log");
        }
    }
}

/// A request under way. When it is dropped before its end, the server is told.
pub(super) struct InFlightRequest<'a> {
    inner: &'a ConnectionInner,
    pub(super) call: Arc<Call>,
    /// Whether the server has nothing more to hear of it.
    quiet: bool,
}

impl<'a> InFlightRequest<'a> {
    pub(super) fn begin(inner: &'a ConnectionInner, about: About) -> Result<Self, ClientError> {
        Ok(Self { inner, call: inner.pending_requests.begin(about)?, quiet: false })
    }

    /// Hears everything until the answer.
    async fn hear_out(
        &mut self,
        source: &mut Source,
        line: &dyn RequestHandler,
        clock: &mut Clock,
    ) -> PendingCall {
        let outcome = self.converse(source, line, clock).await;
        self.quiet |= !matches!(outcome, Err(ClientError::Timeout(_)));
        if outcome.is_ok() {
            source.settle();
        }
        PendingCall { outcome, session: source.session.take(), refused: source.refused }
    }

    async fn converse(
        &self,
        source: &mut Source,
        line: &dyn RequestHandler,
        clock: &mut Clock,
    ) -> Result<Result<RawJson, RawJson>, ClientError> {
        let mut asking = Asking::new(self.inner, line);
        let outcome = self.hear_all(source, line, clock, &mut asking).await;
        if outcome.is_ok() {
            asking.send_off().await;
        }
        outcome
    }

    async fn hear_all(
        &self,
        source: &mut Source,
        line: &dyn RequestHandler,
        clock: &mut Clock,
        asking: &mut Asking<'_>,
    ) -> Result<Result<RawJson, RawJson>, ClientError> {
        let (mut logging, mut is_begun): (Option<BoxFuture<'_, ()>>, bool) = (None, false);
        loop {
            select! {
                biased;
                () = asking.one_less() => if asking.is_empty() {
                    clock.resume();
                },
                () = waited(&mut logging) => logging = None,
                // Before what may always be ready: a flood must not outrun the clock.
                time = clock.run_out(), if !clock.is_stopped() => {
                    return Err(ClientError::Timeout(time));
                }
                heard = self.call.mailbox.next(), if logging.is_none() => match heard {
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
                        clock.hear();
                        line.progress(params);
                    }
                    Inbound::Log(level, params) => {
                        is_begun = true;
                        logging = Some(line.log(level, params));
                    }
                    Inbound::InputRequest(asked) => {
                        is_begun = true;
                        clock.stop();
                        asking.ask(asked);
                    }
                    Inbound::Withdrawn(id) => asking.withdraw(&id),
                    Inbound::Acknowledged => {}
                },
                said = source.step(self.inner), if logging.is_none() => match said? {
                    Some(Step::Message(said)) => {
                        is_begun = true;
                        self.inner.hear(said, Some(&self.call));
                    }
                    Some(Step::HangUp(retry)) => line.hang_up(retry),
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
        // Over HTTP a server without handshake hears of it by the end of its response.
        if unanswered && !self.quiet && !self.inner.stands_alone() {
            self.inner.tell(cancelled(self.call.id, "nobody waits for the answer any more"));
        }
    }
}

/// Waits for the log message to be heard; for ever when there is none.
async fn waited(logging: &mut Option<BoxFuture<'_, ()>>) {
    match logging {
        Some(logging) => logging.await,
        None => std::future::pending().await,
    }
}
