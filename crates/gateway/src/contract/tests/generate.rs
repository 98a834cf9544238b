//! Calls and results of every shape, among them those that look like what they are mapped to.

use gantry_protocol::RawJson;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::contract::{ErrorType, Status, ToolCall, ToolResult};
use crate::{ErrorDetail, contract::ContractError};

/// Any JSON value.
pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(|number: f64| json!(number)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::from),
        ]
    })
}

/// Any text, often one that stands for something elsewhere.
pub(super) fn text() -> impl Strategy<Value = String> {
    let telling = ["", "{}", "null", "content", "failure", "{\"content\":[]}", "same"];
    prop_oneof![select(telling.to_vec()).prop_map(str::to_owned), any::<String>()]
}

fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let keys = ["content", "structuredContent", "status", "_meta", "type", "text"];
    let key = prop_oneof![select(keys.to_vec()).prop_map(str::to_owned), any::<String>()];
    prop::collection::vec((key, value), 0..4).prop_map(|members| members.into_iter().collect())
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => text().prop_map(|text| json!({"type": "text", "text": text})),
        1 => value().prop_map(|value| json!({"type": "json", "json": value})),
        1 => Just(json!({"type": "image", "data": "AA==", "mimeType": "image/png"})),
        1 => value(),
    ]
}

/// What looks like the result of `tools/call`, with some of its members.
pub(super) fn call_result() -> impl Strategy<Value = Value> {
    let content = prop::collection::vec(block(), 0..3).prop_map(Value::from);
    let some = |strategy: BoxedStrategy<Value>| prop::option::weighted(0.6, strategy);
    let status = select(vec!["success", "failure", "no_change_needed", "partial_success", "odd"]);
    let meta =
        (prop::option::of(status), prop::option::of(text()), prop::option::of(error_value()));
    (some(content.boxed()), some(value().boxed()), prop::option::of(any::<bool>()), meta).prop_map(
        |(content, structured, is_error, (status, explanation, error))| {
            let meta = present([
                ("gantry/status", status.map(Value::from)),
                ("gantry/explanation", explanation.map(Value::from)),
                ("gantry/error", error),
            ]);
            let is_error = is_error.map(Value::from);
            present([
                ("content", content),
                ("structuredContent", structured),
                ("isError", is_error),
                ("_meta", Some(meta)),
            ])
        },
    )
}

fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let there = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect())
}

fn error_value() -> impl Strategy<Value = Value> {
    error().prop_map(|error| serde_json::to_value(&error).expect("a detail is JSON"))
}

fn error() -> impl Strategy<Value = ErrorDetail> {
    let own = text().prop_map(|name| ErrorType::parse(&name));
    let kind = prop_oneof![select(ErrorType::ALL.to_vec()), own];
    let details = value().prop_filter("the kinds allowed", |it| it.is_object() || it.is_string());
    (kind, text(), prop::option::of(details), further()).prop_map(
        |(error_type, error_message, details, further)| ErrorDetail {
            error_type,
            error_message,
            error_details: details.map(RawJson::from),
            further,
        },
    )
}

/// Keys that the contract does not know, if any.
fn further() -> impl Strategy<Value = Option<RawJson>> {
    let members = members(value()).prop_map(|mut members| {
        let known = ["status", "data", "error", "explanation", "error_type", "error_message"];
        members.retain(|key, _| !known.contains(&key.as_str()) && key != "error_details");
        (!members.is_empty()).then(|| RawJson::from(Value::from(members)))
    });
    prop_oneof![3 => Just(None), 1 => members]
}

/// Any tool result that keeps the rule.
pub(super) fn result() -> impl Strategy<Value = ToolResult> {
    let plain = members(value()).prop_map(Value::from);
    let data = prop_oneof![2 => plain, 1 => call_result()];
    let parts = (
        select(Status::ALL.to_vec()),
        prop::option::of(data),
        prop::option::of(error()),
        prop::option::of(text()),
        further(),
    );
    let built = parts.prop_map(|(status, data, error, explanation, further)| {
        let data = data.map(RawJson::from).filter(|_| status != Status::Failure);
        let result = ToolResult::new(status, data, error, explanation)?;
        match further {
            Some(further) => result.with_further(&further),
            None => Ok(result),
        }
    });
    built.prop_filter_map("a failure has an error", Result::<_, ContractError>::ok)
}

/// Any tool call.
pub(super) fn call() -> impl Strategy<Value = ToolCall> {
    let arguments = members(value()).prop_map(|members| RawJson::from(Value::from(members)));
    ("[a-z0-9_]{1,5}(\\.[a-z0-9_]{1,5}){1,3}", arguments)
        .prop_map(|(name, arguments)| ToolCall::new(&name, arguments).expect("a good call"))
}
