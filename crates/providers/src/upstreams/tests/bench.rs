//! A gateway with servers behind it, and a client in front.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gantry_client::Target;
use gantry_gateway::{
    Call, CallError, CallEvent, CallNotification, CallStream, Caller, Gateway, Interest, Outcome,
    PendingInputRequest, Reply, ServerInfo, Subscription, Watched,
};
use gantry_process::Program;
use gantry_protocol::{ClientCapabilities, Method, RawJson};
use serde_json::{Value, json};

use super::super::{Status, UpstreamConfig, UpstreamSettings, Upstreams};
use super::fixture::{raw, upstream};

/// Longer than anything here takes; a test that waits so long has failed.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub(super) enum Era {
    Legacy,
    Modern,
    /// As the older one, but it does not tell when its tools change.
    Quiet,
}

/// The server beside this file.
pub(super) fn peer(name: &str, era: Era) -> UpstreamConfig {
    let variables = ["PATH", "HOME"].map(|name| (name, std::env::var(name).unwrap_or_default()));
    let era = match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
        Era::Quiet => "quiet",
    };
    let program = Program {
        program: "python3".into(),
        args: ["-c", include_str!("peer.py"), era, name].map(str::to_owned).to_vec(),
        env: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        directory: None,
        memory: None,
    };
    let mut upstream = UpstreamConfig { target: Ok(Target::Program(program)), ..upstream(name) };
    upstream.client.capabilities =
        RawJson::from_static(r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#);
    upstream
}

pub(super) struct Bench {
    pub(super) gateway: Arc<Gateway>,
    pub(super) upstreams: Upstreams,
}

impl Bench {
    pub(super) async fn with(servers: Vec<UpstreamConfig>) -> Self {
        Self::new(UpstreamSettings::default(), servers).await
    }

    /// Waits until all that can be listed is.
    pub(super) async fn new(settings: UpstreamSettings, servers: Vec<UpstreamConfig>) -> Self {
        let gateway = Gateway::builder(ServerInfo::new("test", "1")).build();
        let upstreams = Upstreams::new(settings);
        upstreams.attach(&gateway);
        let bench = Self { gateway, upstreams };
        bench.upstreams.configure(servers, Vec::new());
        let settled = tokio::time::timeout(TIMEOUT, bench.upstreams.settled()).await;
        assert!(settled.is_ok(), "{:#?}", bench.upstreams.status());
        bench
    }

    /// One server or profile alone.
    pub(super) fn virtual_server(&self, name: &str) -> Self {
        let gateway = Gateway::builder(ServerInfo::new(name, "1")).build();
        self.upstreams.attach_virtual_server(name, &gateway);
        Self { gateway, upstreams: self.upstreams.clone() }
    }

    /// Waits until the servers stand so.
    pub(super) async fn until(&self, is_so: impl Fn(&[Status]) -> bool) {
        let mut changes = self.upstreams.changes();
        let waiting = async {
            while !is_so(&self.upstreams.status()) {
                changes.changed().await.expect("a change");
            }
        };
        if tokio::time::timeout(TIMEOUT, waiting).await.is_err() {
            panic!("{:#?}", self.upstreams.status());
        }
    }

    pub(super) fn changes(&self) -> Subscription {
        let interest = Interest { tools: true, resources: true, ..Interest::default() };
        self.gateway.subscribe(interest, &Arc::new(Caller::new("someone")))
    }

    /// Hears of changes of one resource, from when its server was told so.
    pub(super) async fn watch(&self, uri: &str, caller: Caller) -> Subscription {
        let watched = Arc::new(Watched::default());
        watched.add(uri, 1).expect("nothing else is watched");
        let interest = Interest { resources_watched: watched, ..Interest::default() };
        let subscription = self.gateway.subscribe(interest, &Arc::new(caller));
        let told = tokio::time::timeout(TIMEOUT, self.gateway.watching(uri)).await;
        told.expect("the server was told");
        subscription
    }

    /// Waits until a tool is listed.
    pub(super) async fn until_listed(&self, tool: &str) {
        let mut changes = self.changes();
        let waiting = async {
            while !self.names("tools/list", "tools", "name").await.iter().any(|it| it == tool) {
                changes.next().await.expect("a change");
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.expect("it is listed");
    }

    pub(super) async fn names(&self, method: &str, list: &str, member: &str) -> Vec<String> {
        let Ok(Reply::Page(page)) = self.call(Method::parse(method), &json!({})).await else {
            panic!("a list")
        };
        let items = page.result().get(list).unwrap();
        items.elements().map(|item| item.get(member).unwrap().to_text().unwrap()).collect()
    }

    pub(super) async fn call(&self, method: Method, params: &Value) -> Outcome {
        self.call_raw(method, &params.to_string()).await
    }

    pub(super) async fn call_raw(&self, method: Method, params: &str) -> Outcome {
        self.run(call(method, params, Caller::new("someone")), None).await.1
    }

    /// What a tool gives.
    pub(super) async fn tool(&self, name: &str) -> Value {
        self.call(Method::ToolsCall, &json!({"name": name})).await.map(value).unwrap()
    }

    /// The number of a server's process.
    pub(super) async fn process(&self, prefix: &str) -> String {
        self.process_of(prefix, "someone", None).await
    }

    pub(super) async fn process_of(
        &self,
        prefix: &str,
        principal: &str,
        session: Option<&str>,
    ) -> String {
        self.tool_of(&format!("{prefix}_process"), caller(principal, session)).await
    }

    /// What a tool says to a caller.
    pub(super) async fn tool_of(&self, tool: &str, caller: Caller) -> String {
        let params = json!({"name": tool}).to_string();
        text(self.run(call(Method::ToolsCall, &params, caller), None).await.1)
    }

    /// Calls a tool as a client that answers every question so.
    pub(super) async fn answered(&self, tool: &str, answer: &str) -> Outcome {
        let params = json!({"name": tool}).to_string();
        self.run(call(Method::ToolsCall, &params, capable()), Some(answer)).await.1
    }

    /// The progress that a tool reports.
    pub(super) async fn progress(&self, tool: &str) -> Vec<String> {
        let params = json!({"name": tool}).to_string();
        let mut call = call(Method::ToolsCall, &params, Caller::new("someone"));
        call.wants_progress = true;
        let (notifications, outcome) = self.run(call, None).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        notifications
    }

    /// Calls a tool, and goes away when it asks something.
    pub(super) async fn abandoned(&self, tool: &str) {
        let params = json!({"name": tool}).to_string();
        let mut running = self.gateway.start(call(Method::ToolsCall, &params, capable()));
        input_requests(&mut running).await;
        drop(running);
    }

    /// The keys of what a tool asks first, as a client that takes all input requests with a reply.
    pub(super) async fn asked_at_once(&self, params: &Value) -> Vec<String> {
        let mut running = self.gateway.start(standing_alone(params, capable()));
        let asked = input_requests(&mut running).await;
        let mut keys: Vec<_> = asked.into_iter().map(|input_request| input_request.key).collect();
        keys.sort();
        keys
    }

    /// What a tool gives to a client that could declare tasks and does not.
    pub(super) async fn undeclared(&self, params: &Value) -> Outcome {
        self.run(standing_alone(params, Caller::new("someone")), None).await.1
    }

    /// Whether a call becomes a task for a client that takes them.
    pub(super) async fn becomes_task(&self, params: &Value) -> bool {
        let mut running = self.gateway.start(standing_alone(params, capable()));
        loop {
            match tokio::time::timeout(TIMEOUT, running.next_event()).await.expect("a step") {
                CallEvent::Notification(CallNotification::Task { .. }) => return true,
                CallEvent::Notification(_) => {}
                CallEvent::InputRequests(_) | CallEvent::Done(_) => return false,
            }
        }
    }

    async fn run(&self, call: Call, answer: Option<&str>) -> (Vec<String>, Outcome) {
        let mut running = self.gateway.start(call);
        let mut notifications = Vec::new();
        let running = async {
            loop {
                match running.next_event().await {
                    CallEvent::Done(outcome) => return outcome,
                    CallEvent::Notification(CallNotification::Progress(params)) => {
                        notifications.push(params.to_string());
                    }
                    CallEvent::Notification(_) => {}
                    CallEvent::InputRequests(input_requests) => {
                        for input_request in input_requests {
                            let answer = raw(answer.expect("no question"));
                            let _ = input_request.answer.send(Ok(answer));
                        }
                    }
                }
            }
        };
        let outcome = tokio::time::timeout(TIMEOUT, running.boxed()).await.expect("an end");
        (notifications, outcome)
    }
}

/// What a call asks first; what it tells before is passed over.
async fn input_requests(running: &mut CallStream) -> Vec<PendingInputRequest> {
    loop {
        match tokio::time::timeout(TIMEOUT, running.next_event()).await.expect("a step") {
            CallEvent::Notification(_) => {}
            CallEvent::InputRequests(input_requests) => return input_requests,
            CallEvent::Done(outcome) => panic!("it asks nothing: {outcome:?}"),
        }
    }
}

/// A tool call of a client without handshake.
fn standing_alone(params: &Value, caller: Caller) -> Call {
    let call = call(Method::ToolsCall, &params.to_string(), caller);
    Call { takes_input_requests: true, ..call }
}

fn call(method: Method, params: &str, caller: Caller) -> Call {
    Call::new(method, raw(params), Arc::new(caller))
}

/// A client that can be asked, and knows tasks.
fn capable() -> Caller {
    let declared =
        r#"{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let capabilities = ClientCapabilities::read(RawJson::from_static(declared));
    Caller { capabilities, ..Caller::new("someone") }
}

pub(super) fn caller(principal: &str, session: Option<&str>) -> Caller {
    Caller { session: session.map(Arc::from), ..Caller::new(principal) }
}

pub(super) fn value(reply: Reply) -> Value {
    match reply {
        Reply::Result(result) => result.read().unwrap(),
        reply => panic!("a result, not {reply:?}"),
    }
}

pub(super) fn text(outcome: Outcome) -> String {
    let result = outcome.map(value).unwrap_or_else(|error: CallError| panic!("{error:?}"));
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
