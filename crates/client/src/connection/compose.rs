//! A request as the server reads it: lowered for an older one, and with all that a request that
//! stands alone must say of itself for one without handshake.

use gantry_protocol::headers::{self, argument_value, encode_value};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::trace::{TRACEPARENT, TRACESTATE};
use gantry_protocol::{Method, RawJson, Revision, Trace, wire};
use http::{HeaderName, HeaderValue};

use super::link::Agreed;
use crate::request::Request;
use crate::settings::Settings;

const INPUT_RESPONSES: &str = "inputResponses";
const REQUEST_STATE: &str = "requestState";

/// The params of a request that is sent with this id.
pub(super) fn params(settings: &Settings, agreed: &Agreed, request: &Request, id: u64) -> RawJson {
    match agreed.revision().is_stateless() {
        true => standing_alone(agreed.revision(), settings, request, id),
        false => after_handshake(agreed, request, id),
    }
}

/// Whether the server is told that this may become a task (2025-11-25).
pub(super) fn wishes_task(agreed: &Agreed, request: &Request) -> bool {
    agreed.tasks && request.task.is_some() && request.method == Method::ToolsCall
}

/// The params of a request to a server without handshake.
pub(super) fn standing_alone(
    revision: Revision,
    settings: &Settings,
    request: &Request,
    id: u64,
) -> RawJson {
    let given = request.params.get(key::META).unwrap_or(RawJson::EMPTY_OBJECT);
    let mut meta = given.edit();
    for name in key::OF_ONE_HOP {
        meta = meta.remove(name);
    }
    let info = request.client_info.clone().unwrap_or_else(|| settings.info.clone());
    let level = request.log_level.and_then(|level| RawJson::of(&level).ok());
    let meta = meta
        .remove(key::PROGRESS_TOKEN)
        .set(key::PROTOCOL_VERSION, RawJson::string(revision.as_str()))
        .set(key::CLIENT_CAPABILITIES, request.capabilities.clone())
        .set(key::CLIENT_INFO, info)
        .set_some(key::LOG_LEVEL, level)
        .set_some(key::PROGRESS_TOKEN, request.wants_progress.then(|| number(id)));
    request
        .params
        .edit()
        .remove(INPUT_RESPONSES)
        .remove(REQUEST_STATE)
        .set_some(INPUT_RESPONSES, request.input.entries.clone())
        .set_some(REQUEST_STATE, request.input.state.clone())
        .set(key::META, meta.apply())
        .apply()
}

fn after_handshake(agreed: &Agreed, request: &Request, id: u64) -> RawJson {
    let params = wire::lower_params(agreed.revision(), &request.method, &request.params);
    let given = params.get(key::META);
    let meta = match (&given, request.wants_progress) {
        (Some(meta), true) => Some(meta.edit().set(key::PROGRESS_TOKEN, number(id)).apply()),
        (None, true) => Some(ObjectWriter::new().value(key::PROGRESS_TOKEN, &id).finish()),
        (Some(meta), false) => Some(meta.edit().remove(key::PROGRESS_TOKEN).apply()),
        (None, false) => None,
    };
    let ttl = request.task.and_then(|task| task.ttl).map(|ttl| ttl.as_millis() as u64);
    let task =
        wishes_task(agreed, request).then(|| ObjectWriter::new().value_some("ttl", ttl).finish());
    params.edit().set_some(key::META, meta).set_some("task", task).apply()
}

fn number(id: u64) -> RawJson {
    gantry_protocol::Id::number(id).raw().clone()
}

/// The headers that name the trace a request is a part of.
pub(super) fn traced(trace: &Trace) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let state = trace.state.as_deref().map(|state| (TRACESTATE, state));
    let named = [(TRACEPARENT, trace.parent.as_str())].into_iter().chain(state);
    named.filter_map(|(name, value)| {
        Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
    })
}

/// The headers that repeat parts of a request to a server without handshake.
pub(super) fn repeated(revision: Revision, request: &Request) -> Vec<(HeaderName, HeaderValue)> {
    let mut found = vec![(
        HeaderName::from_static(headers::PROTOCOL_VERSION),
        HeaderValue::from_static(revision.as_str()),
    )];
    let mut add = |name: &str, value: &str| {
        // What no header can carry is left to the body; the server says so if it minds.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            found.push((name, value));
        }
    };
    add(headers::METHOD, request.method.as_str());
    let named =
        request.method.name_member().and_then(|member| request.params.get(member)?.to_text());
    if let Some(name) = named {
        add(headers::NAME, &encode_value(&name));
    }
    let arguments = request.params.get("arguments");
    for param in request.headers.iter() {
        if let Some(value) = argument_value(param, arguments.as_ref()) {
            add(&param.header, &encode_value(&value));
        }
    }
    found
}
