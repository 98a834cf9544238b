//! A connection against a scripted server at the other end of a pipe.

mod ask;
mod bad;
mod batches;
mod bring;
mod era;
mod http;
mod lists;
mod peer;
mod program;
pub(crate) mod site;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::{JsonLimits, Level, Method, RawJson};
use serde_json::{Value, json};

use crate::error::ClientError;
use crate::request::{Answer, Request};
use crate::request_handler::{InputRefusal, InputRequest, RequestHandler};

/// Makes raw JSON of a value.
pub(crate) fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string(), JsonLimits::default()).expect("a value is valid JSON")
}

/// A value of raw JSON.
fn value(raw: &RawJson) -> Value {
    raw.read().expect("raw JSON is valid")
}

/// A call of a tool.
pub(crate) fn call(tool: &str) -> Request {
    Request::new(Method::ToolsCall, raw(&json!({"name": tool, "arguments": {}})))
}

/// The result of a call that was completed.
#[track_caller]
pub(crate) fn complete(answer: Result<Answer, ClientError>) -> Value {
    match answer {
        Ok(Answer::Complete(result)) => value(&result),
        other => panic!("expected a complete result, found {other:?}"),
    }
}

/// Hears everything, and answers questions as it is told.
struct Hearer {
    identity: &'static str,
    heard: Mutex<Vec<String>>,
    answer: Option<Value>,
}

impl Hearer {
    fn answering(identity: &'static str, answer: Value) -> Arc<Self> {
        Arc::new(Self { identity, heard: Mutex::default(), answer: Some(answer) })
    }

    fn silent() -> Arc<Self> {
        Arc::new(Self { identity: "", heard: Mutex::default(), answer: None })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn add(&self, text: String) {
        self.heard.lock().unwrap().push(text);
    }
}

impl RequestHandler for Hearer {
    fn progress(&self, params: RawJson) {
        self.add(format!("progress {params}"));
    }

    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()> {
        self.add(format!("log {level:?} {params}"));
        Box::pin(async {})
    }

    fn ask(&self, input_request: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        let InputRequest { method, params, key } = input_request;
        self.add(format!("ask {method} {} {key:?}", params.unwrap_or(RawJson::NULL)));
        Box::pin(async {
            match &self.answer {
                Some(answer) => Ok(raw(answer)),
                None => std::future::pending().await,
            }
        })
    }

    fn identity(&self) -> &str {
        self.identity
    }
}

/// Long enough for anything that is to happen at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);
