//! `/mcp`: Streamable HTTP for clients of both eras, told apart message by message.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gantry_gateway::Call;
use gantry_protocol::jsonrpc;
use gantry_protocol::{Id, Message, Method, RpcError};
use http::StatusCode;

use super::accept::Accept;
use super::alarm::Alarm;
use super::answer::Answer;
use super::body::Given;
use super::entrance::Knock;
use super::{Hall, Head, answer, batch, flight, session, stateless};
use crate::doorman::Visitor;
use crate::duplex::stranger;
use crate::era::{
    Arrival, HttpSession, Live, Received, Ticket, names_stateful, names_stateless, receive,
    unsupported,
};
use crate::headers::{Headers, PROTOCOL_VERSION};
use crate::settings::Eras;

/// What is left of a request when its head and its message have been read.
pub(super) enum Course {
    /// It is answered.
    Answered(Answer),
    /// A call that stands alone.
    Alone(Box<Live>),
    /// A call of a session.
    Flight(Arc<HttpSession>, Ticket, Box<Call>),
}

/// Serves one request to the endpoint, whose method is one of those that it has.
pub(crate) async fn serve(
    hall: &Arc<Hall>,
    visitor: &Visitor,
    silence: &mut Alarm,
    head: &Head,
    body: Given,
) -> Answer {
    let knock = Knock { headers: &head.headers, visitor };
    match head.method {
        http::Method::GET => session::get(hall, knock),
        http::Method::DELETE => session::delete(hall, knock),
        _ => post(hall, knock, silence, body).await,
    }
}

async fn post(hall: &Arc<Hall>, knock: Knock<'_>, silence: &mut Alarm, body: Given) -> Answer {
    if !is_json(knock.headers) {
        let error = RpcError::invalid_request("the Content-Type must be application/json");
        return answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    let accept = Accept::read(knock.headers);
    if !accept.json && !accept.events {
        let text = "the Accept header must list application/json and text/event-stream";
        return answer::error(StatusCode::NOT_ACCEPTABLE, &RpcError::invalid_request(text));
    }
    let text = match body {
        Ok(text) => text,
        Err(unread) => {
            return answer::error(unread.status, &RpcError::invalid_request(unread.reason));
        }
    };
    let course = match receive(text, hall.lobby.settings.message).await {
        Ok(Received::Request(request)) => {
            if let Some(listed) = awaited(hall, knock, &request) {
                listed.await;
            }
            dispatch(hall, knock, accept, *request)
        }
        Ok(Received::Notification(notification)) => {
            Course::Answered(take(hall, knock, Message::Notification(notification)))
        }
        Ok(Received::Response(response)) => {
            Course::Answered(take(hall, knock, Message::Response(response)))
        }
        Ok(Received::Batch(messages)) => {
            Course::Answered(Box::pin(batch::serve(hall, knock, accept, messages)).await)
        }
        Err(malformed) => {
            let error = malformed.to_error();
            let reply = match malformed.id() {
                Some(id) => jsonrpc::error(id, &error),
                None => jsonrpc::error_without_id(&error, session::wants_null_id(hall, knock)),
            };
            Course::Answered(answer::reply(StatusCode::BAD_REQUEST, reply))
        }
    };
    let visitor = knock.visitor;
    match course {
        Course::Answered(answer) => answer,
        Course::Alone(live) => stateless::run(hall, visitor, silence, accept, live).await,
        Course::Flight(session, ticket, call) => {
            flight::run(hall, visitor, silence, &session, accept, ticket, *call).await
        }
    }
}

/// Takes what is no request.
fn take(hall: &Hall, knock: Knock<'_>, message: Message) -> Answer {
    let version = knock.headers.get(PROTOCOL_VERSION);
    match version.is_some_and(names_stateless) && hall.lobby.settings.eras != Eras::Legacy {
        true => stateless::take(&message),
        false => session::take(hall, knock, message),
    }
}

/// Tells the eras apart: a request that says it stands alone does; then the header may say so;
/// everything else belongs to a session, or opens one.
fn dispatch(hall: &Arc<Hall>, knock: Knock<'_>, accept: Accept, request: Arrival) -> Course {
    let request = request.traced_by(knock.headers);
    let eras = hall.lobby.settings.eras;
    let version = knock.headers.get(PROTOCOL_VERSION);
    let by_header = version.is_some_and(names_stateless);
    let alone = request.is_stateless() || by_header;
    if alone && eras != Eras::Legacy {
        return stateless::begin(hall, knock, request);
    }
    let bad = |error| Course::Answered(refuse(&request.id, StatusCode::BAD_REQUEST, &error));
    if let Some(version) = version
        && !names_stateful(version)
        && !alone
    {
        return bad(unsupported(&hall.lobby, version));
    }
    match request.method {
        _ if eras == Eras::Modern => bad(stranger(&hall.lobby, &request)),
        Method::Initialize => Course::Answered(session::initialize(hall, knock.visitor, &request)),
        _ => session::begin(hall, knock, accept, request),
    }
}

/// Waits for the tool that a request which stands alone calls, if that is about to be listed: its
/// headers are checked against the definition.
fn awaited(hall: &Hall, knock: Knock<'_>, request: &Arrival) -> Option<BoxFuture<'static, ()>> {
    let by_header = || knock.headers.get(PROTOCOL_VERSION).is_some_and(names_stateless);
    if request.method != Method::ToolsCall || !(request.is_stateless() || by_header()) {
        return None;
    }
    let name = request.head.name.as_ref()?;
    let listed = match name.as_text() {
        Some(name) => hall.lobby.gateway.awaited_tool(name),
        None => hall.lobby.gateway.awaited_tool(&name.to_text()?),
    };
    listed.map(FutureExt::boxed)
}

/// Answers a request with an error.
pub(crate) fn refuse(id: &Id, status: StatusCode, error: &RpcError) -> Answer {
    answer::reply(status, jsonrpc::error(id, error))
}

/// Whether the body says that it is JSON.
pub(crate) fn is_json(headers: &Headers) -> bool {
    let kind = headers.get("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}
