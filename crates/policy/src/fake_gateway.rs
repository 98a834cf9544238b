//! For tests: a gateway with a few tools, whose server can be told to fail or to wait.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use gantry_gateway::filter::{CallEnd, CallObserver, CallSummary, PolicyDecision, Recorded};
use gantry_gateway::{
    Call, CallContext, CallError, CallEvent, CallStream, Caller, ErrorKind, Gateway,
    GatewayBuilder, Listing, Origin, Outcome, Provider, Reply, Resolved, ServerInfo, ToolEntry,
};
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{Method, RawJson};
use tokio::sync::Semaphore;

/// A gateway with the tools `here`, `world`, which says that it reaches outside, and `far_get` and
/// `far_put` of the server `far`.
pub(crate) struct FakeGateway {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) fake_provider: FakeProvider,
}

/// Serves every call.
#[derive(Debug, Clone)]
pub(crate) struct FakeProvider(Arc<Script>);

#[derive(Debug)]
struct Script {
    /// What calls fail with, if they fail.
    failure: Mutex<Option<ErrorKind>>,
    /// How many calls may end.
    leave: Semaphore,
    served: AtomicUsize,
    decisions: Mutex<Vec<PolicyDecision>>,
}

impl FakeGateway {
    /// A gateway with the policies that are put into it.
    pub(crate) fn new(install: impl FnOnce(GatewayBuilder) -> GatewayBuilder) -> Self {
        let fake_provider = FakeProvider(Arc::new(Script {
            failure: Mutex::default(),
            leave: Semaphore::new(Semaphore::MAX_PERMITS),
            served: AtomicUsize::new(0),
            decisions: Mutex::default(),
        }));
        let builder =
            Gateway::builder(ServerInfo::new("stage", "1")).observer(fake_provider.clone());
        let gateway = install(builder).build();
        let publisher = gateway.attach(Arc::new(fake_provider.clone()));
        let tools = [
            tool("here", "{}", None),
            tool("world", r#"{"openWorldHint":true}"#, None),
            tool("far_get", "{}", Some("far")),
            tool("far_put", "{}", Some("far")),
        ];
        publisher.publish(Listing { tools: tools.map(Arc::new).into(), ..Listing::default() });
        Self { gateway, fake_provider }
    }

    /// Begins a call.
    pub(crate) fn start(&self, who: &str, tool: &str, arguments: &str) -> CallStream {
        let params = raw(&format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let caller = Arc::new(Caller::new(who));
        self.gateway.start(Call::new(Method::ToolsCall, params, caller))
    }

    /// Makes a call that says nothing before its end.
    pub(crate) async fn run(&self, who: &str, tool: &str, arguments: &str) -> Outcome {
        end(self.start(who, tool, arguments)).await
    }

    /// Makes a call and gives what the caller is told: `ok`, or what went wrong.
    pub(crate) async fn told(&self, who: &str, tool: &str) -> String {
        match self.run(who, tool, "{}").await {
            Ok(Reply::Result(result)) if result.get("isError").is_some() => {
                result.at(&["_meta", "gantry/error", "error_message"]).unwrap().to_text().unwrap()
            }
            Ok(_) => "ok".to_owned(),
            Err(error) => error.public,
        }
    }
}

impl FakeProvider {
    /// Lets calls fail with this from now on, or succeed.
    pub(crate) fn fails(&self, failure: Option<ErrorKind>) {
        *self.0.failure.lock().unwrap() = failure;
    }

    /// Lets no call end until it is told how many may.
    pub(crate) fn hold(&self) {
        self.0.leave.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Lets so many calls end.
    pub(crate) fn release(&self, calls: usize) {
        self.0.leave.add_permits(calls);
    }

    /// How many calls have reached the provider.
    pub(crate) fn served(&self) -> usize {
        self.0.served.load(Relaxed)
    }

    /// What was decided about the calls so far: policy and rule, with `!` before a refusal.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let decisions = std::mem::take(&mut *self.0.decisions.lock().unwrap());
        let spoken = |it: PolicyDecision| {
            format!("{}{}: {}", if it.allowed { "" } else { "!" }, it.policy, it.rule)
        };
        decisions.into_iter().map(spoken).collect()
    }
}

impl Provider for FakeProvider {
    fn name(&self) -> &str {
        "stage"
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        self.0.served.fetch_add(1, Relaxed);
        let script = self.0.clone();
        Box::pin(async move {
            script.leave.acquire().await.expect("it is open").forget();
            let failure = script.failure.lock().unwrap().clone();
            match failure {
                Some(kind) => Err(CallError::new(kind, "as it was told")),
                None => Ok(Reply::result(raw(r#"{"content":[]}"#))),
            }
        })
    }
}

impl CallObserver for FakeProvider {
    fn ended(&self, call: &CallSummary<'_>, _: &CallEnd<'_>) -> Recorded {
        self.0.decisions.lock().unwrap().extend(call.context.decisions());
        None
    }
}

/// Waits for the end of a call.
pub(crate) async fn end(mut running: CallStream) -> Outcome {
    match running.next_event().await {
        CallEvent::Done(outcome) => outcome,
        step => panic!("an end, not {step:?}"),
    }
}

fn tool(name: &str, annotations: &str, server: Option<&str>) -> ToolEntry {
    let definition = format!(
        r#"{{"name":"{name}","annotations":{annotations},"inputSchema":{{"type":"object"}}}}"#
    );
    let mut tool = ToolEntry::new(raw(&definition)).unwrap();
    let origin = |server: &str| Origin { server: server.into(), identity: "test".into() };
    tool.origin = server.map(|server| Arc::new(origin(server)));
    tool
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}
