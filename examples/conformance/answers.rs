//! Answers to whatever a server asks: forms are filled in, the model says something, and there is
//! one folder.

use futures_util::future::BoxFuture;
use gantry_client::{InputRefusal, InputRequest, RequestHandler};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Level, Method, RawJson};
use serde_json::{Map, Value, json};

/// Answers what is asked while a call runs.
pub(crate) struct Answers;

impl RequestHandler for Answers {
    fn progress(&self, _params: RawJson) {}

    fn log(&self, _level: Level, _params: RawJson) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn ask(&self, question: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        let answer = to_one(&question.method, question.params.as_ref());
        let unknown =
            || InputRefusal::Unsupported(format!("{} has no answer here", question.method));
        let answer = answer.ok_or_else(unknown);
        Box::pin(async { answer })
    }
}

/// The answers to questions that came with a reply, by their keys.
pub(crate) fn to_all(questions: &RawJson) -> RawJson {
    let answer = |answers: ObjectWriter, (key, question): (String, RawJson)| {
        let method = question.get("method").and_then(|method| method.to_text()).unwrap_or_default();
        let answer = to_one(&Method::parse(&method), question.get("params").as_ref());
        answers.raw_some(&key, answer.as_ref())
    };
    let questions = questions.members().map(|it| (it.key().into_owned(), it.value()));
    questions.fold(ObjectWriter::new(), answer).finish()
}

fn to_one(method: &Method, params: Option<&RawJson>) -> Option<RawJson> {
    let schema = params.and_then(|params| params.get("requestedSchema"));
    match method {
        Method::Elicit => {
            let content = filled_in(schema.as_ref());
            Some(ObjectWriter::new().value("action", "accept").raw("content", &content).finish())
        }
        Method::CreateMessage => RawJson::of(&json!({
            "role": "assistant",
            "content": {"type": "text", "text": "Hello."},
            "model": "none",
            "stopReason": "endTurn"
        }))
        .ok(),
        Method::RootsList => {
            RawJson::of(&json!({"roots": [{"uri": "file:///tmp", "name": "tmp"}]})).ok()
        }
        _ => None,
    }
}

/// An object that fits a schema: defaults where there are some, else what its type allows.
pub(crate) fn filled_in(schema: Option<&RawJson>) -> RawJson {
    let properties: Option<Map<String, Value>> =
        schema.and_then(|schema| schema.get("properties")?.read());
    let filled: Map<String, Value> = properties
        .unwrap_or_default()
        .into_iter()
        .map(|(name, property)| (name, value_of(&property)))
        .collect();
    RawJson::of(&filled).unwrap_or(RawJson::EMPTY_OBJECT)
}

fn value_of(property: &Value) -> Value {
    if let Some(value) = property.get("default").or_else(|| property["enum"].get(0)) {
        return value.clone();
    }
    match property["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}
