//! Spans and records as OTLP writes them in JSON: ids in hexadecimal digits, 64-bit numbers as text.

use std::time::{SystemTime, UNIX_EPOCH};

use gantry_gateway::Target;
use gantry_protocol::json::JsonKind;
use gantry_protocol::{Method, RawJson, TraceParent};
use serde_json::{Map, Value, json};

use crate::telemetry::{ObservedCall, ObservedRecord, Part};

/// Kinds of spans, by their numbers in OTLP.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const CLIENT: u8 = 3;

/// The status of a span that failed.
const FAILED: u8 = 2;

/// A name that a client made up is carried no further than this.
const LONGEST_NAME: usize = 256;

/// The body of a request that sends spans.
pub(crate) fn spans(service: &str, calls: &[ObservedCall]) -> Value {
    let spans: Vec<Value> = calls.iter().flat_map(of_call).collect();
    json!({"resourceSpans": [{
        "resource": resource(service),
        "scopeSpans": [{"scope": scope(), "spans": spans}],
    }]})
}

/// The body of a request that sends records.
pub(crate) fn records(service: &str, records: &[ObservedRecord]) -> Value {
    let records: Vec<Value> = records.iter().map(of_record).collect();
    json!({"resourceLogs": [{
        "resource": resource(service),
        "scopeLogs": [{"scope": scope(), "logRecords": records}],
    }]})
}

fn resource(service: &str) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("service.name", service);
    attributes.text("service.version", env!("CARGO_PKG_VERSION"));
    attributes.number("process.pid", i64::from(std::process::id()));
    json!({"attributes": attributes.0})
}

fn scope() -> Value {
    json!({"name": "gantry", "version": env!("CARGO_PKG_VERSION")})
}

/// The span of a call, and that of its provider's part.
fn of_call(call: &ObservedCall) -> Vec<Value> {
    let mut attributes = about(call);
    attributes.text("gantry.call", &call.number.to_string());
    attributes.text("gantry.principal", &call.caller.principal);
    attributes.text_some("gantry.client", call.caller.client_name().as_deref());
    attributes.text_some("gantry.face", call.caller.virtual_server.as_deref());
    attributes.text_some("mcp.session.id", call.caller.session.as_deref());
    if let Some(decision) = &call.decision {
        let word = if decision.allowed { "allowed" } else { "refused" };
        attributes.text("gantry.decision", word);
        attributes.text("gantry.policy", decision.policy);
        attributes.text("gantry.rule", &decision.rule);
    }
    let whole = span(call, &call.whole, call.parent, SERVER, &attributes);
    let is_behind = call.target.as_ref().is_some_and(|target| target.origin().is_some());
    let kind = if is_behind { CLIENT } else { INTERNAL };
    let work = call.work.as_ref();
    let work = work.map(|part| span(call, part, Some(call.whole.id), kind, &about(call)));
    std::iter::once(whole).chain(work).collect()
}

/// What both spans of a call say, in the words of the conventions for MCP where they have one.
fn about(call: &ObservedCall) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.text("mcp.method.name", call.method.as_str());
    let named = call.target.as_ref().map(|target| target.names().canonical().to_owned());
    let named = named.or_else(|| call.named.as_ref()?.to_text());
    let named = named.filter(|name| name.len() <= LONGEST_NAME);
    let key = match &call.method {
        Method::ToolsCall => "gen_ai.tool.name",
        Method::PromptsGet => "gen_ai.prompt.name",
        Method::ResourcesRead => "mcp.resource.uri",
        _ => "gantry.target",
    };
    attributes.text_some(key, named.as_deref());
    if call.method == Method::ToolsCall {
        attributes.text("gen_ai.operation.name", "execute_tool");
    }
    let target = call.target.as_ref();
    let origin = target.and_then(Target::origin);
    attributes.text_some("gantry.server", origin.map(|origin| &*origin.server));
    if let Some(Target::Tool(tool)) = target {
        attributes.text_some("gantry.tool.version", tool.version.as_deref());
    }
    attributes.text_some("error.type", call.failure);
    attributes
}

fn span(
    call: &ObservedCall,
    part: &Part,
    parent: Option<u64>,
    kind: u8,
    attributes: &Attributes,
) -> Value {
    let mut span = json!({
        "traceId": format!("{:032x}", call.trace),
        "spanId": format!("{:016x}", part.id),
        "name": name(call),
        "kind": kind,
        "startTimeUnixNano": nanos(part.start),
        "endTimeUnixNano": nanos(part.end),
        "attributes": attributes.0,
        "flags": 1,
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = format!("{parent:016x}").into();
    }
    if let Some(state) = &call.state {
        span["traceState"] = state.as_str().into();
    }
    if let Some(failure) = call.failure {
        span["status"] = json!({"code": FAILED, "message": failure});
    }
    span
}

/// The method, and the name of a tool or prompt that there is: there are only so many of those.
fn name(call: &ObservedCall) -> String {
    match &call.target {
        Some(target @ (Target::Tool(_) | Target::Prompt(_))) => {
            format!("{} {}", call.method, target.names().canonical())
        }
        _ => call.method.to_string(),
    }
}

fn of_record(observed: &ObservedRecord) -> Value {
    let mut record = json!({
        "timeUnixNano": nanos(observed.at),
        "observedTimeUnixNano": nanos(observed.at),
        "severityNumber": 9,
        "severityText": "INFO",
        "eventName": "gantry.call",
        "body": any_value(&observed.record),
    });
    let parent = observed.trace.as_ref().and_then(|trace| TraceParent::parse(&trace.parent));
    if let Some(parent) = parent {
        record["traceId"] = format!("{:032x}", parent.trace).into();
        record["spanId"] = format!("{:016x}", parent.span).into();
        record["flags"] = u8::from(parent.sampled).into();
    }
    record
}

/// Any JSON value in OTLP's form. Depth is bounded: the limits of JSON texts were checked before.
fn any_value(value: &RawJson) -> Value {
    match value.kind() {
        JsonKind::Null => json!({}),
        JsonKind::Boolean => json!({"boolValue": value.as_str() == "true"}),
        JsonKind::Number => match value.read::<i64>() {
            Some(number) => json!({"intValue": number.to_string()}),
            None => json!({"doubleValue": value.read::<f64>().unwrap_or_default()}),
        },
        JsonKind::String => json!({"stringValue": value.to_text().unwrap_or_default()}),
        JsonKind::Array => {
            let values: Vec<Value> = value.elements().map(|it| any_value(&it)).collect();
            json!({"arrayValue": {"values": values}})
        }
        JsonKind::Object => {
            let pair = |key: &str, value: &RawJson| json!({"key": key, "value": any_value(value)});
            let values: Vec<Value> =
                value.members().map(|it| pair(&it.key(), &it.value())).collect();
            json!({"kvlistValue": {"values": values}})
        }
    }
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

#[derive(Default)]
struct Attributes(Vec<Value>);

impl Attributes {
    fn text(&mut self, key: &str, value: &str) {
        self.push(key, "stringValue", value.into());
    }

    fn text_some(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    fn number(&mut self, key: &str, value: i64) {
        self.push(key, "intValue", value.to_string().into());
    }

    fn push(&mut self, key: &str, kind: &str, value: Value) {
        let value = Value::Object(Map::from_iter([(kind.to_owned(), value)]));
        self.0.push(json!({"key": key, "value": value}));
    }
}
