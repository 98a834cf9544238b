//! The tools, and what they share.
#![expect(deprecated, reason = "logging is still part of the protocol")]

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{Peer as Client, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::asking::{Questions, Stop, form, page, roots, sample};
use crate::handler::{complete, is_modern, model};

/// The resource that clients watch.
pub(crate) const NOTE: &str = "peer://note";

/// What all connections share.
pub(crate) struct State {
    pub(crate) fixtures: Value,
    changes: broadcast::Sender<DefinitionChange>,
    /// What those hear who were accepted and do not listen yet, the first one first.
    accepted: Mutex<VecDeque<broadcast::Receiver<DefinitionChange>>>,
    cancelled: AtomicU64,
    grown: AtomicBool,
    /// Clients that have shaken hands.
    clients: Mutex<Vec<Client<RoleServer>>>,
    /// Those that watch the note.
    watching: Mutex<Vec<Client<RoleServer>>>,
}

/// What clients without a handshake listen for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefinitionChange {
    Touched,
    Grown,
}

impl Default for State {
    fn default() -> Self {
        let fixtures = include_str!("../fixtures.json");
        Self {
            fixtures: serde_json::from_str(fixtures).expect("the fixtures are JSON"),
            changes: broadcast::channel(64).0,
            accepted: Mutex::default(),
            cancelled: AtomicU64::default(),
            grown: AtomicBool::default(),
            clients: Mutex::default(),
            watching: Mutex::default(),
        }
    }
}

impl State {
    pub(crate) fn tools(&self) -> Value {
        let mut tools = self.fixtures["tools"].clone();
        if let (true, Some(tools)) = (self.grown.load(Ordering::Relaxed), tools.as_array_mut()) {
            tools.push(self.fixtures["grown"].clone());
        }
        tools
    }

    /// Keeps what changes from now on for the next who listens.
    pub(crate) fn expect_listener(&self) {
        let changes = self.changes.subscribe();
        self.accepted.lock().expect("no holder panics").push_back(changes);
    }

    /// What changed since the next listener was accepted.
    pub(crate) fn next_listener(&self) -> broadcast::Receiver<DefinitionChange> {
        let accepted = self.accepted.lock().expect("no holder panics").pop_front();
        accepted.unwrap_or_else(|| self.changes.subscribe())
    }

    pub(crate) fn watch(&self, client: Client<RoleServer>) {
        self.watching.lock().expect("no holder panics").push(client);
    }

    pub(crate) fn unwatch(&self) {
        self.watching.lock().expect("no holder panics").clear();
    }

    pub(crate) fn meet(&self, client: Client<RoleServer>) {
        let mut clients = self.clients.lock().expect("no holder panics");
        clients.retain(|known| !known.is_transport_closed());
        clients.push(client);
    }

    async fn touch(&self) {
        let watching = self.watching.lock().expect("no holder panics").clone();
        for client in watching {
            client.notify_resource_updated(ResourceUpdatedNotificationParam::new(NOTE)).await.ok();
        }
        self.changes.send(DefinitionChange::Touched).ok();
    }

    async fn grow(&self) {
        self.grown.fetch_xor(true, Ordering::Relaxed);
        let clients = self.clients.lock().expect("no holder panics").clone();
        for client in clients {
            client.notify_tool_list_changed().await.ok();
        }
        self.changes.send(DefinitionChange::Grown).ok();
    }
}

/// Calls a tool.
pub(crate) async fn call(
    state: &State,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let questions = Questions::new(&context, &request);
    let given = Value::Object(request.arguments.unwrap_or_default());
    let done = match request.name.strip_prefix("ask_") {
        Some(what) => ask(&state.fixtures, &questions, what, &given).await,
        None => run(state, &request.name, given, &context).await.map_err(Stop::from),
    };
    match done {
        Ok(result) => Ok(complete::<CallToolResult>(result)?.into()),
        Err(Stop::NeedsInput(result)) => Ok(result.into()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

fn text(said: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": said.into()}]})
}

async fn run(
    state: &State,
    name: &str,
    given: Value,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    Ok(match name {
        "echo" => {
            let mut result = text(given.to_string());
            result["structuredContent"] = given;
            result["_meta"] = state.fixtures["meta"].clone();
            result
        }
        "add" => {
            let sum =
                given["a"].as_i64().unwrap_or_default() + given["b"].as_i64().unwrap_or_default();
            let mut result = text(json!({"sum": sum}).to_string());
            result["structuredContent"] = json!({"sum": sum});
            result
        }
        "progress" => {
            for step in 1..=3 {
                report(context, step).await;
            }
            text("done")
        }
        "logs" => logs(context).await?,
        "slow" => {
            // Who waits for this knows that the call can be cancelled now.
            report(context, 1).await;
            context.ct.cancelled().await;
            state.cancelled.fetch_add(1, Ordering::Relaxed);
            text("cancelled")
        }
        "cancelled" => text(state.cancelled.load(Ordering::Relaxed).to_string()),
        "fail" => json!({"content": [{"type": "text", "text": "it broke"}], "isError": true}),
        "touch" => {
            state.touch().await;
            text("touched")
        }
        "grow" => {
            state.grow().await;
            text("grew")
        }
        "grown" => text("new"),
        _ => return Err(ErrorData::invalid_params(format!("unknown tool {name}"), None)),
    })
}

async fn report(context: &RequestContext<RoleServer>, step: u32) {
    if let Some(token) = context.meta.get_progress_token() {
        let report = ProgressNotificationParam::new(token, f64::from(step));
        let report = report.with_total(3.0).with_message(format!("step {step}"));
        context.peer.notify_progress(report).await.ok();
    }
}

async fn logs(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let wanted = context.meta.get("io.modelcontextprotocol/logLevel").is_some();
    for (level, data) in [("info", "one"), ("warning", "two")] {
        if wanted || !is_modern(context) {
            let message: LoggingMessageNotificationParam =
                model(json!({"level": level, "logger": "peer", "data": data}))?;
            context.peer.notify_logging_message(message).await.ok();
        }
    }
    Ok(text("logged"))
}

async fn ask(
    fixtures: &Value,
    questions: &Questions,
    what: &str,
    given: &Value,
) -> Result<Value, Stop> {
    let with_form = given["form"].as_bool().unwrap_or(true);
    let said = match what {
        "form" => filled(&questions.ask(&[("name", form(fixtures, "name"))]).await?[0]),
        "url" => string(&questions.ask(&[("page", page(fixtures))]).await?[0]["action"]),
        "model" => first(&questions.ask(&[("model", sample(fixtures, false))]).await?[0]),
        "model_tools" => used(&questions.ask(&[("model", sample(fixtures, true))]).await?[0]),
        "roots" => uris(&questions.ask(&[("roots", roots())]).await?[0]),
        "many" if with_form => {
            let (form, model) = (form(fixtures, "name"), sample(fixtures, false));
            let asked = [("name", form), ("model", model), ("roots", roots())];
            let answers = questions.ask(&asked).await?;
            [filled(&answers[0]), first(&answers[1]), uris(&answers[2])].join("|")
        }
        "many" => {
            let asked = [("model", sample(fixtures, false)), ("roots", roots())];
            let answers = questions.ask(&asked).await?;
            [first(&answers[0]), uris(&answers[1])].join("|")
        }
        "rounds" if !with_form => {
            let model = questions.ask(&[("model", sample(fixtures, false))]).await?;
            let folders = questions.ask(&[("roots", roots())]).await?;
            format!("{} then {}", first(&model[0]), uris(&folders[0]))
        }
        "rounds" => {
            let name = questions.ask(&[("name", form(fixtures, "name"))]).await?;
            let colour = questions.ask(&[("colour", form(fixtures, "colour"))]).await?;
            let (name, colour) = (&name[0]["content"]["name"], &colour[0]["content"]["colour"]);
            format!("{} likes {}", string(name), string(colour))
        }
        _ => {
            let error = ErrorData::invalid_params(format!("unknown tool ask_{what}"), None);
            return Err(Stop::Failed(error));
        }
    };
    Ok(text(said))
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn filled(answer: &Value) -> String {
    let name = answer["content"]["name"].as_str().unwrap_or("nobody");
    format!("{} {name}", string(&answer["action"]))
}

/// Clients give one block of content or a list of them.
fn blocks(answer: &Value) -> Vec<Value> {
    match &answer["content"] {
        Value::Array(blocks) => blocks.clone(),
        block => vec![block.clone()],
    }
}

fn first(answer: &Value) -> String {
    blocks(answer).first().map(|block| string(&block["text"])).unwrap_or_default()
}

fn used(answer: &Value) -> String {
    let blocks = blocks(answer);
    let used = blocks.iter().find(|block| block["type"] == "tool_use");
    used.map(|used| format!("{} {}", string(&used["name"]), string(&used["input"]["city"])))
        .unwrap_or_default()
}

fn uris(answer: &Value) -> String {
    let roots = answer["roots"].as_array().into_iter().flatten();
    let uris: Vec<String> = roots.map(|root| string(&root["uri"])).collect();
    uris.join(",")
}
