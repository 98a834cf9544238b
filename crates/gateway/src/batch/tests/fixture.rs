//! A gateway with tools that say when they ran.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::json::{JsonLimits, ObjectWriter};
use gantry_protocol::{Method, RawJson};
use serde_json::Value;

use crate::{
    Call, CallContext, CallError, CallEvent, Caller, ErrorKind, Gateway, InputRequest,
    InputRequired, Listing, Outcome, Provider, Reply, Resolved, ResourceEntry, ServerInfo,
    Settings, ToolEntry,
};

/// A gateway and what its tools did.
pub(super) struct Fixture {
    pub(super) gateway: Arc<Gateway>,
    notes: Workers,
}

#[derive(Clone, Default)]
struct Workers(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    /// The argument `id` of each call, or its URI, in the order of their ends.
    seen: Vec<String>,
    at_once: usize,
    most_at_once: usize,
}

const TOOLS: [&str; 6] = ["echo", "fail", "slow", "ask", "inquire", "hang"];

impl Fixture {
    pub(super) fn new(settings: Settings) -> Self {
        let gateway = Gateway::builder(ServerInfo::new("batch", "1")).settings(settings).build();
        let notes = Workers::default();
        let tool = |name| {
            let definition = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
            Arc::new(ToolEntry::new(raw(&definition)).unwrap())
        };
        let resource = ResourceEntry::new(raw(r#"{"uri":"test://one","name":"one"}"#)).unwrap();
        gateway.attach(Arc::new(notes.clone())).publish(Listing {
            tools: TOOLS.map(tool).into(),
            resources: vec![Arc::new(resource)],
            ..Listing::default()
        });
        Self { gateway, notes }
    }

    /// Runs a batch that says nothing before its end.
    pub(super) async fn run(&self, call: Call) -> Outcome {
        match self.gateway.start(call).next_event().await {
            CallEvent::Done(outcome) => outcome,
            next_event => panic!("an end, not {next_event:?}"),
        }
    }

    /// Runs a batch that has a result.
    pub(super) async fn result(&self, call: Call) -> Value {
        read(self.run(call).await.expect("a result"))
    }

    pub(super) fn seen(&self) -> String {
        self.notes.notes().seen.join(" ")
    }

    pub(super) fn most_at_once(&self) -> usize {
        self.notes.notes().most_at_once
    }
}

impl Workers {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap()
    }
}

impl Provider for Workers {
    fn name(&self) -> &str {
        "workers"
    }

    fn serve(&self, resolved: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        Box::pin(serve(self.clone(), resolved.clone(), context.clone()))
    }
}

async fn serve(workers: Workers, resolved: Resolved, context: CallContext) -> Outcome {
    let params = &resolved.call.params;
    let arguments = params.get("arguments").unwrap_or(RawJson::EMPTY_OBJECT);
    {
        let mut notes = workers.notes();
        notes.at_once += 1;
        notes.most_at_once = notes.most_at_once.max(notes.at_once);
    }
    let outcome = work(&resolved, &arguments, &context).await;
    let mut notes = workers.notes();
    notes.at_once -= 1;
    if let Some(id) = arguments.get("id").and_then(|id| id.to_text()) {
        notes.seen.push(id);
    } else if params.get("uri").is_some() {
        notes.seen.push("a".to_owned());
    }
    outcome
}

async fn work(resolved: &Resolved, arguments: &RawJson, context: &CallContext) -> Outcome {
    let good = |value: &RawJson| {
        let result = ObjectWriter::new().raw("content", &raw("[]")).raw("structuredContent", value);
        Ok(Reply::result(result.finish()))
    };
    match resolved.target.name() {
        "fail" => Err(CallError::new(ErrorKind::ToolFailed, "broken")),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            good(arguments)
        }
        "ask" => {
            let answer = context.ask("folders", InputRequest::roots()).await?;
            good(&ObjectWriter::new().raw("answer", &answer).finish())
        }
        "inquire" if resolved.call.input.state.is_none() => {
            Ok(Reply::InputRequired(InputRequired {
                requests: Some(raw(r#"{"folders":{"method":"roots/list"}}"#)),
                state: Some(RawJson::string("asked")),
            }))
        }
        "hang" => std::future::pending().await,
        "test://one" => Ok(Reply::result(raw(r#"{"contents":[]}"#))),
        _ => good(arguments),
    }
}

/// A batch with this plan.
pub(super) fn batch(plan: &Value) -> Call {
    Call::new(Method::Batch, raw(&plan.to_string()), Arc::new(Caller::new("someone")))
}

/// The result that a reply holds.
pub(super) fn read(reply: Reply) -> Value {
    match reply {
        Reply::Result(result) => result.read().expect("JSON"),
        reply => panic!("a result, not {reply:?}"),
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}
