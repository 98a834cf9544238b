//! The client library against real servers: our own with one of everything, on both eras, and
//! those of other projects.

mod everything;
mod others;

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use gantry_client::{
    Answer, ClientError, Connection, Event, InputRefusal, InputRequest, InputRequired, Request,
    RequestHandler, Settings, Target,
};
use gantry_process::Program;
use gantry_protocol::{JsonLimits, Level, Method, RawJson};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// A program with our environment.
fn program(path: impl AsRef<Path>, args: &[&str]) -> Target {
    Target::Program(Program {
        program: path.as_ref().to_owned(),
        args: args.iter().map(ToString::to_string).collect(),
        env: std::env::vars().collect(),
        directory: None,
        memory: None,
    })
}

/// A connection, and the events that belong to no request.
struct CallSlot {
    connection: Arc<Connection>,
    events: mpsc::Receiver<Event>,
}

impl CallSlot {
    async fn take(target: &Target, settings: Settings) -> Self {
        let (sender, events) = mpsc::channel(64);
        let opened = Connection::open(target, Arc::new(settings), sender).await;
        Self { connection: Arc::new(opened.expect("the server is greeted")), events }
    }

    /// Calls a tool, and answers what it asks for by whichever way it asks.
    async fn call(&self, tool: &str, arguments: Value, line: &User) -> Result<Value, ClientError> {
        let params = raw(&json!({"name": tool, "arguments": arguments}));
        let mut request = Request::new(Method::ToolsCall, params);
        request.capabilities = capabilities();
        request.wants_progress = true;
        request.log_level = Some(Level::Debug);
        loop {
            match self.connection.request(request.clone(), line).await? {
                Answer::Complete(result) => return Ok(value(&result)),
                Answer::Task(task) => panic!("nobody asked for a task: {task}"),
                Answer::InputRequired(input) => {
                    let questions = value(&input.entries.expect("questions"));
                    let questions = questions.as_object().expect("an object").iter();
                    let answers: serde_json::Map<_, _> = questions
                        .map(|(key, question)| {
                            let method = question["method"].as_str().expect("a method");
                            (key.clone(), line.answer(method, &question["params"]))
                        })
                        .collect();
                    let entries = Some(raw(&Value::Object(answers)));
                    request.input = InputRequired { entries, state: input.state };
                }
            }
        }
    }

    async fn close(self) {
        self.connection.close().await;
    }
}

/// What the user of these tests can do.
fn capabilities() -> RawJson {
    raw(&json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}))
}

fn settings() -> Settings {
    Settings { capabilities: capabilities(), ..Settings::default() }
}

/// A user that hears everything and answers every question.
#[derive(Default)]
struct User {
    heard: Mutex<Vec<String>>,
}

impl User {
    /// What was heard since this was asked last.
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().expect("nobody panicked"))
    }

    fn add(&self, text: String) {
        self.heard.lock().expect("nobody panicked").push(text);
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        self.add(format!("asked {method}"));
        match method {
            "roots/list" => json!({"roots": [{"uri": "file:///here"}]}),
            "sampling/createMessage" => {
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hello"}})
            }
            _ if params["mode"] == "url" => json!({"action": "accept"}),
            _ => {
                json!({"action": "accept", "content": {"username": "u", "email": "e", "answer": "a", "name": "n"}})
            }
        }
    }
}

impl RequestHandler for User {
    fn progress(&self, params: RawJson) {
        self.add(format!("progress {}", value(&params)["progress"]));
    }

    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()> {
        self.add(format!("log {level:?} {}", value(&params)["data"]));
        Box::pin(async {})
    }

    fn ask(&self, question: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        if let Some(key) = &question.key {
            self.add(format!("named {key}"));
        }
        let params = question.params.as_ref().map_or(Value::Null, value);
        let answer = self.answer(question.method.as_str(), &params);
        Box::pin(async move { Ok(raw(&answer)) })
    }
}

fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string(), JsonLimits::default()).expect("a value is valid JSON")
}

fn value(raw: &RawJson) -> Value {
    raw.read().expect("raw JSON is valid")
}

/// The first text of a result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
