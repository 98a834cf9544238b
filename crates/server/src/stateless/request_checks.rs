//! The checks of a stateless request, in the order that the transport section of the revision
//! implies: headers and body must agree before any policy reads either.

use std::borrow::Cow;
use std::sync::Arc;

use gantry_gateway::{CallError, Caller, ErrorKind, TaskSupport};
use gantry_protocol::capability::TASKS;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::{RequestMeta, key};
use gantry_protocol::{Level, Method, RawJson, Revision, RpcError, headers};

use crate::authenticator::ClientIdentity;
use crate::era::unsupported;
use crate::error_codes;
use crate::request::ParsedRequest;
use crate::request_headers::{Headers, METHOD, NAME, PROTOCOL_VERSION};
use crate::server_state::ServerState;
use crate::stateless::Rejection;

/// Checks a request. Returns its caller and the log level it wants.
pub(super) fn check(
    server_state: &ServerState,
    client: &ClientIdentity,
    request: &ParsedRequest,
    headers: Option<&Headers>,
) -> Result<(Arc<Caller>, Option<Level>), Rejection> {
    if let Some(headers) = headers {
        check_method(headers, &request.method)?;
    }
    let caller = check_meta(server_state, client, &request.meta, headers)?;
    let method = &request.method;
    if !is_served(method) || !server_state.gateway.offers(method, &caller) {
        return Err(RpcError::method_not_found(request.method.as_str()).into());
    }
    if let Some(ambiguous) = request.head.ambiguous {
        return Err(RpcError::invalid_params(ambiguous.to_string()).into());
    }
    if let Some(headers) = headers {
        check_name(headers, request)?;
        check_arguments(server_state, &caller, headers, request)?;
    }
    let level = read_level(&request.meta)?;
    match caller.capabilities.tasks || !needs_tasks(server_state, &caller, request) {
        true => Ok((caller, level)),
        false => Err(tasks_required(&request.method).into()),
    }
}

fn is_served(method: &Method) -> bool {
    method.is_call()
        || is_task_method(method)
        || matches!(method, Method::Discover | Method::Listen)
}

/// Whether a request is about a task.
pub(super) fn is_task_method(method: &Method) -> bool {
    matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel)
}

/// Whether a request needs a client that supports tasks.
fn needs_tasks(server_state: &ServerState, caller: &Caller, request: &ParsedRequest) -> bool {
    match request.method {
        Method::ToolsCall => {
            let Some(name) = request.head.name.as_ref().and_then(text) else {
                return false;
            };
            let required = server_state.gateway.catalog().with(|snapshot| {
                let tool = snapshot.tool(&name);
                tool.is_some_and(|tool| tool.task_support == TaskSupport::Required)
            });
            // A tool that the caller may not see is rejected by the pipeline, which audits it.
            required && server_state.gateway.visible_tool(&name, caller).is_some()
        }
        Method::Listen => request.params.at(&["notifications", "taskIds"]).is_some(),
        ref method => is_task_method(method),
    }
}

fn tasks_required(method: &Method) -> RpcError {
    let extensions = ObjectWriter::new().raw(TASKS, &RawJson::EMPTY_OBJECT).finish();
    let required = ObjectWriter::new().raw("extensions", &extensions).finish();
    let text = match method {
        Method::ToolsCall => "this tool runs only as a task; declare the extension for tasks",
        _ => "declare the extension for tasks in the request's capabilities",
    };
    let kind = ErrorKind::MissingCapability { required };
    error_codes::to_rpc(Revision::LATEST, CallError::new(kind, text))
}

/// The value of a JSON string, mostly without a copy.
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

/// Checks the members that every request must have in `_meta`, and reads the caller from them.
fn check_meta(
    server_state: &ServerState,
    client: &ClientIdentity,
    meta: &RequestMeta,
    headers: Option<&Headers>,
) -> Result<Arc<Caller>, Rejection> {
    let missing = |member: &str| Rejection {
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
        principal: client.identity.principal.clone(),
        capabilities,
        client_info: meta.client_info.clone(),
        session: client.session.clone(),
        scope: client.identity.scope.clone(),
        lease: client.identity.lease.clone(),
        virtual_server: server_state.virtual_server.clone(),
    }))
}

fn check_name(headers: &Headers, request: &ParsedRequest) -> Result<(), RpcError> {
    let Some(member) = request.method.name_member() else { return Ok(()) };
    let body = match member {
        "uri" => request.head.uri.clone(),
        "name" => request.head.name.clone(),
        member => request.params.get(member),
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
    request: &ParsedRequest,
) -> Result<(), RpcError> {
    if request.method != Method::ToolsCall {
        return Ok(());
    }
    let Some(name) = request.head.name.as_ref().and_then(text) else { return Ok(()) };
    let with_headers = server_state.gateway.catalog().with(|snapshot| {
        let tool = snapshot.tool(&name);
        tool.is_some_and(|tool| !tool.headers.is_empty())
    });
    // Few tools have any. A tool that the caller may not see is rejected by the pipeline as if it
    // did not exist.
    let tool = with_headers.then(|| server_state.gateway.visible_tool(&name, caller)).flatten();
    for param in tool.iter().flat_map(|tool| &tool.headers) {
        let value = given.get(param.header.as_str());
        headers::check_argument(param, request.head.arguments.as_ref(), value)
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
