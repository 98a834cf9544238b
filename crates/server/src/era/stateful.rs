//! Calls of clients with a handshake: notices and questions go out while the call runs.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{AskError, ErrorDetail, ErrorKind, Outcome, Question, Reply, Running, Step};
use gantry_gateway::{CallError, Notice};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, jsonrpc, wire};
use gantry_transport::{LARGE, offload};

use super::errors;
use super::replay::StreamLog;
use super::session::Session;
use super::ticket::Ticket;
use crate::outgoing::Outgoing;
use crate::seal::random_name;

/// Where what a call says goes.
#[derive(Debug, Clone)]
pub(crate) enum Wire {
    /// Straight to the client.
    Channel(Outgoing),
    /// Into a stream that the client may leave and take up again.
    Log(Arc<StreamLog>),
    /// Nowhere: the client takes nothing but the answer.
    Nowhere,
}

impl Wire {
    pub(crate) async fn send(&self, message: Bytes) -> bool {
        match self {
            Self::Channel(outgoing) => outgoing.send(message).await,
            Self::Log(log) => log.push(message).await,
            Self::Nowhere => false,
        }
    }

    fn hang_up(&self, session: &Session, retry: Duration) {
        if let Self::Log(log) = self
            && session.revision.has_priming_events()
        {
            log.hang_up(retry);
        }
    }
}

/// Runs a call to its end, saying what it says. The first step may have been taken already.
pub(crate) async fn drive(
    session: &Session,
    ticket: &Ticket,
    running: &mut Running,
    first: Option<Step>,
    wire: &Wire,
) -> jsonrpc::Reply {
    let related = ticket.related_task();
    let mut asked = Asked { session, related, numbers: Vec::new() };
    let mut next = first;
    loop {
        let step = match next.take() {
            Some(step) => step,
            None => running.step().await,
        };
        match step {
            Step::Notice(Notice::HangUp { retry }) => wire.hang_up(session, retry),
            Step::Notice(notice) => {
                if let Some(message) = ticket.notification(session.revision, &notice) {
                    wire.send(message).await;
                }
            }
            Step::Questions(questions) => {
                for question in questions {
                    asked.ask(question, wire).await;
                }
            }
            Step::Done(outcome) => {
                asked.withdraw(wire).await;
                return finish(session, ticket, outcome).await;
            }
        }
    }
}

/// The questions of one call, forgotten when the call is.
struct Asked<'a> {
    session: &'a Session,
    /// The task that asks, when it is one.
    related: Option<String>,
    numbers: Vec<u64>,
}

impl Asked<'_> {
    async fn ask(&mut self, question: Question, wire: &Wire) {
        let named = question.name().map(str::to_owned);
        let Question { ask, answer, .. } = question;
        let revision = self.session.revision;
        // Only a question that sends the user to a URL needs a name of its own.
        let name = random_name();
        let params = wire::lower_question(revision, &ask.method, ask.params.as_ref(), &name);
        let params = match params {
            Ok(params) => params,
            Err(error) => {
                let _ = answer.send(Err(AskError::Inexpressible(error.to_string())));
                return;
            }
        };
        let params = match &self.related {
            Some(task) => {
                let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
                Some(wire::with_related_task(&params, task))
            }
            None => params,
        };
        let params = match named {
            Some(name) => Some(with_name(&params.unwrap_or(RawJson::EMPTY_OBJECT), &name)),
            None => params,
        };
        let number = self.session.ask(ask.method.clone(), answer);
        self.numbers.push(number);
        let id = Id::number(number);
        let request = jsonrpc::request(&id, ask.method.as_str(), params.as_ref());
        if !wire.send(request).await {
            self.session.forget(&[number]);
        }
    }

    /// Tells the client that what is still open need not be answered.
    async fn withdraw(&mut self, wire: &Wire) {
        for number in self.session.forget(&std::mem::take(&mut self.numbers)) {
            let params = ObjectWriter::new()
                .value("requestId", &number)
                .value("reason", "the call that asked is over")
                .finish();
            wire.send(jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))).await;
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.session.forget(&self.numbers);
    }
}

/// The params of a question that also tell its name, for who must show several at once.
fn with_name(params: &RawJson, name: &str) -> RawJson {
    let meta = params.get(key::META).filter(RawJson::is_object).unwrap_or(RawJson::EMPTY_OBJECT);
    let meta = meta.edit().set(key::QUESTION, RawJson::string(name)).apply();
    params.edit().set(key::META, meta).apply()
}

/// The answer to a call, in the client's revision.
pub(crate) async fn finish(session: &Session, ticket: &Ticket, outcome: Outcome) -> jsonrpc::Reply {
    let revision = session.revision;
    let result = match outcome {
        Ok(Reply::Result(result)) => match result.bytes().len() {
            ..=LARGE => ticket.lower(revision, result).into_raw(),
            large => {
                let ticket = ticket.clone();
                offload(large, move || ticket.lower(revision, result).into_raw()).await
            }
        },
        Ok(Reply::Page(page)) => page.variant(revision as usize, |result| {
            ticket.lower(revision, result.clone().into()).into_raw()
        }),
        Ok(Reply::InputRequired(_)) => {
            let text = "the provider asked for input in a way this client cannot take";
            return fail(session, ticket, CallError::new(ErrorKind::Internal, text));
        }
        Err(error) => return fail(session, ticket, error),
    };
    jsonrpc::result(&ticket.id, &result)
}

fn fail(session: &Session, ticket: &Ticket, error: CallError) -> jsonrpc::Reply {
    // These revisions have no code for this, and a model can make something of the text.
    if ticket.method == Method::ToolsCall
        && matches!(error.kind, ErrorKind::MissingCapability { .. })
    {
        return jsonrpc::result(&ticket.id, &ErrorDetail::from(&error).to_result());
    }
    jsonrpc::error(&ticket.id, &errors::to_rpc(session.revision, error))
}
