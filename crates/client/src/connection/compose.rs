//! Composes a request for the server's revision: lowered for a legacy server; for a modern one with
//! the hop's own `_meta` keys and the HTTP headers that repeat parts of it.

use gantry_protocol::headers::{self, argument_value, encode_value};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::trace::{TRACEPARENT, TRACESTATE};
use gantry_protocol::{Method, ParamsHead, RawJson, Revision, Trace, compat};
use http::{HeaderName, HeaderValue};

use super::connection_inner::Negotiated;
use crate::request::Request;
use crate::settings::Settings;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);
const INPUT_RESPONSES: &str = "inputResponses";
const REQUEST_STATE: &str = "requestState";

/// The params of the request with this id.
pub(super) fn params(
    settings: &Settings,
    negotiated: &Negotiated,
    request: &Request,
    head: &ParamsHead,
    id: u64,
) -> RawJson {
    match negotiated.revision().is_stateless() {
        true => stateless_params(negotiated.revision(), settings, request, head, id),
        false => legacy_params(negotiated, request, id),
    }
}

/// What the request is about: a tool, a prompt, a resource, a task.
pub(super) fn name(request: &Request, head: &ParamsHead) -> Option<String> {
    match request.method.name_member()? {
        "name" => head.name.as_ref()?.to_text(),
        "uri" => head.uri.as_ref()?.to_text(),
        member => request.params.get(member)?.to_text(),
    }
}

/// Whether to ask for a task (2025-11-25).
pub(super) fn requests_task(negotiated: &Negotiated, request: &Request) -> bool {
    negotiated.tasks && request.task.is_some() && request.method == Method::ToolsCall
}

/// The params of a request to a modern server.
pub(super) fn stateless_params(
    revision: Revision,
    settings: &Settings,
    request: &Request,
    head: &ParamsHead,
    id: u64,
) -> RawJson {
    let meta = meta(revision, settings, request, head.meta.as_ref(), id);
    let brings = [&head.input_responses, &head.request_state];
    let answers = [&request.input.entries, &request.input.state];
    // Usually only the hop's own keys change, and they are replaced in place.
    if let Some(given) = &head.meta
        && head.ambiguous.is_none()
        && brings.into_iter().chain(answers).all(Option::is_none)
    {
        return request.params.replace(given, &meta);
    }
    request
        .params
        .edit()
        .remove(INPUT_RESPONSES)
        .remove(REQUEST_STATE)
        .set_some(INPUT_RESPONSES, request.input.entries.clone())
        .set_some(REQUEST_STATE, request.input.state.clone())
        .set(key::META, meta)
        .apply()
}

/// The `_meta` of the hop, after keys of others that cross the gateway.
fn meta(
    revision: Revision,
    settings: &Settings,
    request: &Request,
    given: Option<&RawJson>,
    id: u64,
) -> RawJson {
    let info = request.client_info.as_ref().unwrap_or(&settings.info);
    let room = given.map_or(0, |given| given.bytes().len())
        + info.bytes().len()
        + request.capabilities.bytes().len();
    let mut meta = ObjectWriter::with_capacity(room + 256);
    for member in given.into_iter().flat_map(RawJson::members) {
        let name = member.key_bytes();
        let mut own = key::OF_ONE_HOP.iter().chain([&key::PROGRESS_TOKEN]);
        if !own.any(|own| own.as_bytes() == &*name) {
            meta = meta.member(&member);
        }
    }
    meta.value(key::PROTOCOL_VERSION, revision.as_str())
        .raw(key::CLIENT_CAPABILITIES, &request.capabilities)
        .raw(key::CLIENT_INFO, info)
        .value_some(key::LOG_LEVEL, request.log_level)
        .value_some(key::PROGRESS_TOKEN, request.wants_progress.then_some(id))
        .finish()
}

fn legacy_params(negotiated: &Negotiated, request: &Request, id: u64) -> RawJson {
    let params = compat::lower_params(negotiated.revision(), &request.method, &request.params);
    let given = params.get(key::META);
    let meta = match (&given, request.wants_progress) {
        (Some(meta), true) => Some(meta.edit().set(key::PROGRESS_TOKEN, number(id)).apply()),
        (None, true) => Some(ObjectWriter::new().value(key::PROGRESS_TOKEN, &id).finish()),
        (Some(meta), false) => Some(meta.edit().remove(key::PROGRESS_TOKEN).apply()),
        (None, false) => None,
    };
    let ttl = request.task.and_then(|task| task.ttl).map(|ttl| ttl.as_millis() as u64);
    let task = requests_task(negotiated, request)
        .then(|| ObjectWriter::new().value_some("ttl", ttl).finish());
    params.edit().set_some(key::META, meta).set_some("task", task).apply()
}

fn number(id: u64) -> RawJson {
    gantry_protocol::Id::number(id).raw().clone()
}

/// The trace context headers of a request.
pub(super) fn trace_headers(trace: &Trace) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let state = trace.state.as_deref().map(|state| (TRACESTATE, state));
    let named = [(TRACEPARENT, trace.parent.as_str())].into_iter().chain(state);
    named.filter_map(|(name, value)| {
        Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
    })
}

/// The headers that repeat parts of a request to a modern server. `name` is that of the tool,
/// prompt, resource or task.
pub(super) fn repeated_headers(
    revision: Revision,
    request: &Request,
    head: &ParamsHead,
    name: Option<&str>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut found = Vec::with_capacity(3 + request.headers.len());
    found.push((PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str())));
    let mut add = |name: HeaderName, value: &str| {
        // A value that does not fit into a header is left to the body.
        if let Ok(value) = HeaderValue::try_from(value) {
            found.push((name, value));
        }
    };
    add(METHOD, request.method.as_str());
    if let Some(name) = name.filter(|_| request.method.name_member().is_some()) {
        add(NAME, &encode_value(name));
    }
    for param in request.headers.iter() {
        if let Some(value) = argument_value(param, head.arguments.as_ref())
            && let Ok(name) = HeaderName::try_from(param.header.as_str())
        {
            add(name, &encode_value(&value));
        }
    }
    found
}
