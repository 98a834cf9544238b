//! The checks that a request which stands alone must pass, in the order that the revision's
//! transport section implies.

use std::borrow::Cow;
use std::sync::Arc;

use gantry_gateway::{CallError, Caller, ErrorKind, TaskSupport};
use gantry_protocol::capability::TASKS;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::{RequestMeta, key};
use gantry_protocol::{Id, Level, Method, RawJson, Revision, RpcError, code, headers};

use super::parsed::ParsedRequest;
use super::stateless::AuthError;
use super::{errors, supported};
use crate::client_identity::ClientIdentity;
use crate::headers::{Headers, METHOD, NAME, PROTOCOL_VERSION};
use crate::server_state::ServerState;

/// Why a request is not run, and the HTTP status that says so.
pub(super) struct Refused {
    error: RpcError,
    status: u16,
}

impl Refused {
    /// The refusal of the request with that id.
    pub(super) fn of(self, id: &Id) -> AuthError {
        AuthError { id: id.clone(), error: self.error, status: self.status }
    }
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Self { status: errors::status(&error), error }
    }
}

/// Checks a request. Gives who makes it and the least severe log message wanted.
pub(super) fn check(
    server_state: &ServerState,
    client_identity: &ClientIdentity,
    parsed: &ParsedRequest,
    headers: Option<&Headers>,
) -> Result<(Arc<Caller>, Option<Level>), Refused> {
    if let Some(headers) = headers {
        check_method(headers, &parsed.method)?;
    }
    let caller = check_meta(server_state, client_identity, &parsed.meta, headers)?;
    let method = &parsed.method;
    if !is_served(method) || !server_state.gateway.offers(method, &caller) {
        return Err(RpcError::method_not_found(parsed.method.as_str()).into());
    }
    if let Some(ambiguous) = parsed.head.ambiguous {
        return Err(RpcError::invalid_params(ambiguous.to_string()).into());
    }
    if let Some(headers) = headers {
        check_name(headers, parsed)?;
        check_arguments(server_state, &caller, headers, parsed)?;
    }
    let level = read_level(&parsed.meta)?;
    match caller.capabilities.tasks || !needs_tasks(server_state, &caller, parsed) {
        true => Ok((caller, level)),
        false => Err(without_tasks(&parsed.method).into()),
    }
}

fn is_served(method: &Method) -> bool {
    method.is_call()
        || method_of_tasks(method)
        || matches!(method, Method::Discover | Method::Listen)
}

/// Whether a request is about a task.
pub(super) fn method_of_tasks(method: &Method) -> bool {
    matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel)
}

/// Whether a request makes no sense to a client that does not take tasks.
fn needs_tasks(server_state: &ServerState, caller: &Caller, parsed: &ParsedRequest) -> bool {
    match parsed.method {
        Method::ToolsCall => {
            let Some(name) = parsed.head.name.as_ref().and_then(text) else {
                return false;
            };
            let required = server_state.gateway.catalog().with(|snapshot| {
                let tool = snapshot.tool(&name);
                tool.is_some_and(|tool| tool.task_support == TaskSupport::Required)
            });
            // What a caller may not see is refused by the pipeline, which audits it.
            required && server_state.gateway.visible_tool(&name, caller).is_some()
        }
        Method::Listen => parsed.params.at(&["notifications", "taskIds"]).is_some(),
        ref method => method_of_tasks(method),
    }
}

fn without_tasks(method: &Method) -> RpcError {
    let extensions = ObjectWriter::new().raw(TASKS, &RawJson::EMPTY_OBJECT).finish();
    let required = ObjectWriter::new().raw("extensions", &extensions).finish();
    let text = match method {
        Method::ToolsCall => "this tool runs only as a task; declare the extension for tasks",
        _ => "declare the extension for tasks in the request's capabilities",
    };
    let kind = ErrorKind::MissingCapability { required };
    errors::to_rpc(Revision::LATEST, CallError::new(kind, text))
}

/// What a string says, mostly without a copy.
fn text(value: &RawJson) -> Option<Cow<'_, str>> {
    match value.as_text() {
        Some(text) => Some(Cow::Borrowed(text)),
        None => value.to_text().map(Cow::Owned),
    }
}

fn check_method(headers: &Headers, method: &Method) -> Result<(), RpcError> {
    if headers.get(PROTOCOL_VERSION).is_none() {
        return Err(RpcError::header_mismatch("the header MCP-Protocol-Version is missing"));
    }
    match headers.get(METHOD) {
        Some(named) if named == method.as_str() => Ok(()),
        Some(named) => Err(RpcError::header_mismatch(format!(
            "the header Mcp-Method says `{named}` but the body says `{method}`"
        ))),
        None => Err(RpcError::header_mismatch("the header Mcp-Method is missing")),
    }
}

/// Checks what every request must say of itself, and reads who makes it.
fn check_meta(
    server_state: &ServerState,
    client_identity: &ClientIdentity,
    meta: &RequestMeta,
    headers: Option<&Headers>,
) -> Result<Arc<Caller>, Refused> {
    let missing = |member: &str| Refused {
        error: RpcError::invalid_params(format!("`params._meta` must have `{member}`")),
        status: 400,
    };
    let version = meta.version.as_ref().and_then(RawJson::as_text);
    let version = version.ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
    let capabilities =
        meta.capabilities.clone().ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
    if let Some(named) = headers.and_then(|headers| headers.get(PROTOCOL_VERSION))
        && named != version
    {
        let text =
            format!("the header MCP-Protocol-Version says `{named}` but the body says `{version}`");
        return Err(RpcError::header_mismatch(text).into());
    }
    if version != Revision::LATEST.as_str() {
        return Err(unsupported(server_state, version).into());
    }
    Ok(Arc::new(Caller {
        principal: client_identity.identity.principal.clone(),
        capabilities,
        client_info: meta.client_info.clone(),
        session: client_identity.session.clone(),
        scope: client_identity.identity.scope.clone(),
        lease: client_identity.identity.lease.clone(),
        virtual_server: server_state.virtual_server.clone(),
    }))
}

/// The error for a revision that is not served this way.
pub(crate) fn unsupported(server_state: &ServerState, requested: &str) -> RpcError {
    let data = ObjectWriter::new()
        .value("supported", &supported(server_state.settings.eras))
        .value("requested", requested)
        .finish();
    let text = format!("the protocol version `{requested}` is not served here in this way");
    RpcError::new(code::UNSUPPORTED_VERSION, text).with_data(data)
}

fn check_name(headers: &Headers, parsed: &ParsedRequest) -> Result<(), RpcError> {
    let Some(member) = parsed.method.name_member() else { return Ok(()) };
    let body = match member {
        "uri" => parsed.head.uri.clone(),
        "name" => parsed.head.name.clone(),
        member => parsed.params.get(member),
    };
    let Some(named) = headers.get(NAME) else {
        return Err(RpcError::header_mismatch("the header Mcp-Name is missing"));
    };
    let named =
        headers::decode_value(named).map_err(|it| RpcError::header_mismatch(it.to_string()))?;
    match body.as_ref().and_then(text) {
        Some(body) if body == named => Ok(()),
        Some(body) => Err(RpcError::header_mismatch(format!(
            "the header Mcp-Name says `{named}` but `params.{member}` says `{body}`"
        ))),
        None => Err(RpcError::invalid_params(format!("`{member}` must be a string"))),
    }
}

fn check_arguments(
    server_state: &ServerState,
    caller: &Caller,
    given: &Headers,
    parsed: &ParsedRequest,
) -> Result<(), RpcError> {
    if parsed.method != Method::ToolsCall {
        return Ok(());
    }
    let Some(name) = parsed.head.name.as_ref().and_then(text) else { return Ok(()) };
    let with_headers = server_state.gateway.catalog().with(|snapshot| {
        let tool = snapshot.tool(&name);
        tool.is_some_and(|tool| !tool.headers.is_empty())
    });
    // Few tools have any. What a caller may not see is refused by the pipeline as if it were not
    // there.
    let tool = with_headers.then(|| server_state.gateway.visible_tool(&name, caller)).flatten();
    for param in tool.iter().flat_map(|tool| &tool.headers) {
        let value = given.get(param.header.as_str());
        headers::check_argument(param, parsed.head.arguments.as_ref(), value)
            .map_err(|error| RpcError::header_mismatch(error.to_string()))?;
    }
    Ok(())
}

fn read_level(meta: &RequestMeta) -> Result<Option<Level>, RpcError> {
    let Some(level) = &meta.log_level else {
        return Ok(None);
    };
    let read = level.read().map(Some);
    read.ok_or_else(|| RpcError::invalid_params(format!("{level} is not a log level")))
}
