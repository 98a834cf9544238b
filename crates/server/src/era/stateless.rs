//! Requests that stand alone: checked against their own headers and `_meta`, run, answered.

use std::sync::Arc;

use bytes::Bytes;
use gantry_gateway::{Call, CallError, Caller, ErrorKind, Input, Outcome, Reply, Running, Step};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::{RequestMeta, key};
use gantry_protocol::{
    Id, Level, Method, RawJson, Request, Revision, RpcError, code, headers, jsonrpc, wire,
};
use http::HeaderMap;

use super::listen::Listening;
use super::parking::{Resumed, carry};
use super::ticket::Ticket;
use super::{discover, errors, supported};
use crate::lobby::Lobby;

/// The revision spoken here.
const REVISION: Revision = Revision::LATEST;

/// A request that was not run.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) id: Id,
    pub(crate) error: RpcError,
    /// The HTTP status.
    pub(crate) status: u16,
}

/// A request that passed all checks.
pub(crate) enum Prepared {
    /// It is under way.
    Live(Live),
    /// It is answered.
    Answered(Bytes),
    /// It opens a stream of changes.
    Listening(Listening),
}

/// Whether a message says that it stands alone.
pub(crate) fn is_stateless(params: Option<&RawJson>) -> bool {
    params
        .and_then(|it| it.get(key::META))
        .is_some_and(|it| it.get(key::PROTOCOL_VERSION).is_some())
}

/// Checks a request in the order that the revision's transport section implies, and starts it.
pub(crate) fn prepare(
    lobby: &Arc<Lobby>,
    principal: &Arc<str>,
    request: Request,
    headers: Option<&HeaderMap>,
) -> Result<Prepared, Refusal> {
    let Request { id, method, params } = request;
    let refuse = |(error, status): (RpcError, u16)| Refusal { id: id.clone(), error, status };
    let plain = |error: RpcError| {
        let status = errors::status(&error);
        refuse((error, status))
    };
    let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
    params.get_unique(key::META).map_err(|it| plain(RpcError::invalid_request(it.to_string())))?;
    let meta = RequestMeta::read(Some(&params));
    if let Some(headers) = headers {
        check_method(headers, &method).map_err(plain)?;
    }
    let caller = check_meta(lobby, principal, &meta, headers).map_err(refuse)?;
    if !is_served(&method) {
        return Err(plain(RpcError::method_not_found(method.as_str())));
    }
    if let Some(headers) = headers {
        check_name(headers, &method, &params).map_err(plain)?;
        check_arguments(lobby, headers, &method, &params).map_err(plain)?;
    }
    let log_level = read_level(&meta).map_err(plain)?;
    let ticket = Ticket { id: id.clone(), method, params, token: meta.progress_token, caller };
    match ticket.method {
        Method::Discover => {
            let result = jsonrpc::result(&ticket.id, &discover::discover(lobby));
            Ok(Prepared::Answered(result.into_bytes()))
        }
        Method::Listen => {
            let listening = Listening::open(lobby, ticket.id, &ticket.params).map_err(plain)?;
            Ok(Prepared::Listening(listening))
        }
        _ => Ok(Live::start(lobby, ticket, log_level)),
    }
}

fn is_served(method: &Method) -> bool {
    matches!(
        method,
        Method::Discover
            | Method::Listen
            | Method::ToolsList
            | Method::ToolsCall
            | Method::ResourcesList
            | Method::ResourceTemplatesList
            | Method::ResourcesRead
            | Method::PromptsList
            | Method::PromptsGet
            | Method::Complete
    )
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn check_method(headers: &HeaderMap, method: &Method) -> Result<(), RpcError> {
    if header(headers, headers::PROTOCOL_VERSION).is_none() {
        return Err(RpcError::header_mismatch("the header MCP-Protocol-Version is missing"));
    }
    match header(headers, headers::METHOD) {
        Some(named) if named == method.as_str() => Ok(()),
        Some(named) => Err(RpcError::header_mismatch(format!(
            "the header Mcp-Method says `{named}` but the body says `{method}`"
        ))),
        None => Err(RpcError::header_mismatch("the header Mcp-Method is missing")),
    }
}

/// Checks what every request must say of itself, and reads who makes it.
fn check_meta(
    lobby: &Lobby,
    principal: &Arc<str>,
    meta: &RequestMeta,
    headers: Option<&HeaderMap>,
) -> Result<Arc<Caller>, (RpcError, u16)> {
    let missing = |member: &str| {
        (RpcError::invalid_params(format!("`params._meta` must have `{member}`")), 400)
    };
    let version = meta.version.as_deref().ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
    let capabilities =
        meta.capabilities.clone().ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
    if let Some(named) = headers.and_then(|headers| header(headers, headers::PROTOCOL_VERSION))
        && named != version
    {
        let text =
            format!("the header MCP-Protocol-Version says `{named}` but the body says `{version}`");
        return Err((RpcError::header_mismatch(text), 400));
    }
    if version != REVISION.as_str() {
        return Err((unsupported(lobby, version), 400));
    }
    Ok(Arc::new(Caller {
        principal: principal.clone(),
        capabilities,
        client_info: meta.client_info.clone(),
    }))
}

/// The error for a revision that is not served this way.
pub(crate) fn unsupported(lobby: &Lobby, requested: &str) -> RpcError {
    let data = ObjectWriter::new()
        .value("supported", &supported(lobby.settings.eras))
        .value("requested", requested)
        .finish();
    let text = format!("the protocol version `{requested}` is not served here in this way");
    RpcError::new(code::UNSUPPORTED_VERSION, text).with_data(data)
}

fn check_name(headers: &HeaderMap, method: &Method, params: &RawJson) -> Result<(), RpcError> {
    let Some(member) = method.name_member() else {
        return Ok(());
    };
    let Some(named) = header(headers, headers::NAME) else {
        return Err(RpcError::header_mismatch("the header Mcp-Name is missing"));
    };
    let named =
        headers::decode_value(named).map_err(|it| RpcError::header_mismatch(it.to_string()))?;
    let body = params
        .get_unique(member)
        .map_err(|it| RpcError::invalid_params(it.to_string()))?
        .and_then(|name| name.to_text());
    match body {
        Some(body) if body == named => Ok(()),
        Some(body) => Err(RpcError::header_mismatch(format!(
            "the header Mcp-Name says `{named}` but `params.{member}` says `{body}`"
        ))),
        None => Err(RpcError::invalid_params(format!("`{member}` must be a string"))),
    }
}

fn check_arguments(
    lobby: &Lobby,
    given: &HeaderMap,
    method: &Method,
    params: &RawJson,
) -> Result<(), RpcError> {
    if *method != Method::ToolsCall {
        return Ok(());
    }
    let Some(name) = params.get("name").and_then(|name| name.to_text()) else {
        return Ok(());
    };
    lobby.gateway.catalog().with(|snapshot| {
        let Some(tool) = snapshot.tool(&name).filter(|tool| !tool.headers.is_empty()) else {
            return Ok(());
        };
        let arguments = params.get("arguments");
        for param in &tool.headers {
            let value = header(given, &param.header);
            headers::check_argument(param, arguments.as_ref(), value)
                .map_err(|error| RpcError::header_mismatch(error.to_string()))?;
        }
        Ok(())
    })
}

fn read_level(meta: &RequestMeta) -> Result<Option<Level>, RpcError> {
    let Some(level) = &meta.log_level else {
        return Ok(None);
    };
    let read = level.read().map(Some);
    read.ok_or_else(|| RpcError::invalid_params(format!("{level} is not a log level")))
}

/// A request under way.
pub(crate) struct Live {
    lobby: Arc<Lobby>,
    pub(crate) ticket: Ticket,
    running: Option<Running>,
}

/// What to send next.
#[derive(Debug)]
pub(crate) enum Said {
    /// A notification.
    Notice(Bytes),
    /// The answer, and the HTTP status that goes with it if nothing was sent before.
    Answer(jsonrpc::Reply, u16),
}

impl Live {
    fn start(lobby: &Arc<Lobby>, ticket: Ticket, log_level: Option<Level>) -> Prepared {
        let mut call =
            Call::new(ticket.method.clone(), ticket.params.clone(), ticket.caller.clone());
        call.wants_progress = ticket.token.is_some();
        call.log_level = log_level;
        call.takes_questions = true;
        let mut live = Self { lobby: lobby.clone(), ticket, running: None };
        match live.take_input(&mut call) {
            Ok(None) => live.running = Some(lobby.gateway.start(call)),
            Ok(Some(Resumed::Running(running))) => live.running = Some(running),
            Ok(Some(Resumed::Incomplete(again))) => {
                let answer = jsonrpc::result(&live.ticket.id, &live.named(again));
                return Prepared::Answered(answer.into_bytes());
            }
            Ok(Some(Resumed::Carried(state))) => {
                call.input.state = state;
                live.running = Some(lobby.gateway.start(call));
            }
            Err(error) => {
                let error = errors::to_rpc(REVISION, error);
                return Prepared::Answered(jsonrpc::error(&live.ticket.id, &error).into_bytes());
            }
        }
        Prepared::Live(live)
    }

    /// Reads what a retry brings along, and finds what it continues.
    fn take_input(&self, call: &mut Call) -> Result<Option<Resumed>, CallError> {
        if !call.method.takes_input() {
            return Ok(None);
        }
        let responses = call.params.get("inputResponses");
        if responses.as_ref().is_some_and(|responses| !responses.is_object()) {
            return Err(CallError::invalid_params("`inputResponses` must be an object"));
        }
        call.input = Input { responses, state: None };
        match call.params.get("requestState") {
            Some(_) => self.lobby.parking.resume(&self.lobby, &self.ticket).map(Some),
            None => Ok(None),
        }
    }

    /// What to send next; none when the answer has been given.
    pub(crate) async fn next(&mut self) -> Option<Said> {
        loop {
            let step = self.running.as_mut()?.step().await;
            if let Some(said) = self.say(step) {
                return Some(said);
            }
        }
    }

    fn say(&mut self, step: Step) -> Option<Said> {
        match step {
            Step::Notice(notice) => self.ticket.notification(REVISION, &notice).map(Said::Notice),
            Step::Questions(questions) => {
                let running = self.running.take()?;
                let asked = match self.ticket.method.takes_input() {
                    true => self.lobby.parking.park(&self.lobby, &self.ticket, running, questions),
                    false => Err(CallError::new(
                        ErrorKind::ToolFailed,
                        "only a tool, a prompt or a resource may ask for input",
                    )),
                };
                Some(self.answer(asked))
            }
            Step::Done(outcome) => {
                self.running = None;
                let lowered = self.lower(outcome);
                Some(self.answer(lowered))
            }
        }
    }

    fn lower(&self, outcome: Outcome) -> Result<RawJson, CallError> {
        match outcome? {
            Reply::Result(result) => {
                Ok(self.named(wire::lower_result(REVISION, &self.ticket.method, &result)))
            }
            Reply::Page(page) => Ok(page.variant(REVISION as usize, |result| {
                self.named(wire::lower_result(REVISION, &self.ticket.method, result))
            })),
            Reply::InputRequired(required) => carry(&self.lobby, &self.ticket, &required),
        }
    }

    fn answer(&self, result: Result<RawJson, CallError>) -> Said {
        match result {
            Ok(result) => Said::Answer(jsonrpc::result(&self.ticket.id, &result), 200),
            Err(error) => {
                let error = errors::to_rpc(REVISION, error);
                let status = errors::status(&error);
                Said::Answer(jsonrpc::error(&self.ticket.id, &error), status)
            }
        }
    }

    /// Every result says who made it.
    fn named(&self, result: RawJson) -> RawJson {
        let info = self.lobby.gateway.identity().info.clone();
        let meta = match result.get(key::META) {
            Some(meta) if meta.get(key::SERVER_INFO).is_some() => return result,
            Some(meta) => meta.edit().set(key::SERVER_INFO, info).apply(),
            None => ObjectWriter::new().raw(key::SERVER_INFO, &info).finish(),
        };
        result.edit().set(key::META, meta).apply()
    }
}
