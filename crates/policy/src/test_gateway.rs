//! A gateway with the rules, the trust gate and a few tools, for the tests of this crate.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use gantry_gateway::filter::{CallEnd, CallObserver, CallSummary, PolicyDecision, Recorded};
use gantry_gateway::{
    Call, CallContext, CallEvent, CallStream, Caller, Gateway, Input, InputRequired, Listing,
    Origin, Outcome, PendingInputRequest, Provider, Publisher, Reply, Resolved, ServerInfo,
    Snapshot, ToolEntry,
};
use gantry_protocol::{JsonLimits, Method, RawJson};

use crate::approvals::{ApprovalSettings, Approvals};
use crate::clock::{Clock, ClockFlusher};
use crate::document_store::MemoryDocumentStore;
use crate::rules::{Rule, RuleEffect, RuleSet, Rules};
use crate::signed_store::Signer;
use crate::trust::{Trust, TrustSettings};

/// A gateway with the rules and the trust gate in it.
pub(crate) struct TestGateway {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) trust: Trust,
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) publisher: Publisher,
    time: ClockFlusher,
    runs: Arc<AtomicUsize>,
    decisions: Arc<Mutex<Vec<PolicyDecision>>>,
}

/// What a house is made of.
#[derive(Clone)]
pub(crate) struct TestPolicies {
    pub(crate) trust: TrustSettings,
    pub(crate) approvals: ApprovalSettings,
    pub(crate) document_store: Arc<MemoryDocumentStore>,
    pub(crate) now: u64,
    /// What a rule about every tool decides, if there is one.
    pub(crate) rule: Option<RuleEffect>,
    /// Whether what no rule is about is allowed.
    pub(crate) default_allows: bool,
    pub(crate) in_order: bool,
}

impl Default for TestPolicies {
    fn default() -> Self {
        Self {
            trust: TrustSettings::default(),
            approvals: ApprovalSettings::default(),
            document_store: Arc::default(),
            now: 1_000_000,
            rule: None,
            default_allows: true,
            in_order: true,
        }
    }
}

impl TestGateway {
    pub(crate) async fn open(plan: TestPolicies) -> Self {
        let now = Arc::new(AtomicU64::new(plan.now));
        let told = now.clone();
        let clock = Clock::new(move || told.load(Ordering::SeqCst));
        let signer = Signer::new([3; 32]);
        let clock = clock.recall(plan.document_store.clone(), signer.clone()).await.unwrap();
        let (keeping, keeper) = (clock.clone(), signer.clone());
        let time = ClockFlusher::start(keeping, plan.document_store.clone(), keeper);
        let approvals =
            Approvals::open(plan.approvals, plan.document_store, signer, clock).await.unwrap();
        let in_order = Arc::new(move |_: &_| plan.in_order);
        let trust = Trust::open(plan.trust, approvals, in_order).await.unwrap();
        let (runs, decisions) = (Arc::default(), Arc::default());
        let gateway = Gateway::builder(ServerInfo::new("house", "1"))
            .observer(Record(Arc::clone(&decisions)))
            .call_filter(rules(plan.rule, plan.default_allows))
            .call_filter(trust.clone())
            .build();
        let publisher = gateway.attach(Arc::new(Maker(Arc::clone(&runs))));
        publisher.publish(listing("looks at nothing"));
        Self { gateway, trust, now, publisher, time, runs, decisions }
    }

    /// Ends it in good order.
    pub(crate) async fn close(self) {
        self.time.stop().await;
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.gateway.catalog().snapshot()
    }

    /// How often a provider was reached.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// What was decided about the last call, in words.
    pub(crate) fn decided(&self) -> String {
        let decisions = self.decisions.lock().unwrap();
        let last = decisions.last().map(|it| (it.policy, it.allowed, it.rule.to_string()));
        last.map(|(policy, allowed, rule)| format!("{policy} {allowed}: {rule}"))
            .unwrap_or_default()
    }

    pub(crate) fn start(&self, call: Call) -> CallStream {
        self.gateway.start(call)
    }

    /// Makes a call of a client that nobody can ask.
    pub(crate) async fn call(&self, tool: &str) -> String {
        ended(&mut self.start(call(tool, "{}", Caller::new("me")))).await
    }

    /// Makes a call, and answers it as soon as it waits.
    pub(crate) async fn call_answered(
        &self,
        call: Call,
        answer: crate::approvals::Answer,
    ) -> String {
        let mut running = self.start(call);
        let approvals = self.trust.approvals();
        let answers = async {
            loop {
                if let Some(pending) = approvals.pending().iter().find(|it| it.waiting) {
                    return approvals.answer(&pending.id, &answer).await;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            outcome = ended(&mut running) => return outcome,
            _ = answers => {}
        }
        ended(&mut running).await
    }
}

/// The definitions: what each does to the world, by its annotations.
pub(crate) fn listing(description: &str) -> Listing {
    let tool = |name: &str, annotations: &str, origin: bool| {
        let text = format!(
            r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object","properties":{{"n":{{"type":"integer"}}}}}}{annotations}}}"#
        );
        let mut tool =
            ToolEntry::new(RawJson::parse(text, JsonLimits::default()).unwrap()).unwrap();
        let origin = origin.then(|| Origin { server: "far".into(), identity: "far.test".into() });
        tool.origin = origin.map(Arc::new);
        Arc::new(tool)
    };
    let tools = vec![
        tool("reads", r#","annotations":{"readOnlyHint":true}"#, false),
        tool("changes", "", false),
        tool("destroys", r#","annotations":{"destructiveHint":true}"#, false),
        tool("far_reads", r#","annotations":{"readOnlyHint":true}"#, true),
        tool("far_changes", r#","annotations":{"destructiveHint":false}"#, true),
        tool("far_says_nothing", "", true),
        tool("far_destroys", r#","annotations":{"destructiveHint":true}"#, true),
        tool("asks", r#","annotations":{"destructiveHint":true}"#, false),
    ];
    Listing { tools, ..Listing::default() }
}

/// A call of a tool.
pub(crate) fn call(tool: &str, arguments: &str, caller: Caller) -> Call {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    let params = RawJson::parse(params, JsonLimits::default()).unwrap();
    Call::new(Method::ToolsCall, params, Arc::new(caller))
}

/// A caller whose user can be asked.
pub(crate) fn able(principal: &str) -> Caller {
    let mut caller = Caller::new(principal);
    caller.capabilities.elicitation_form = true;
    caller
}

/// Steps a call to its end: `run`, or what it was refused with.
pub(crate) async fn ended(running: &mut CallStream) -> String {
    loop {
        match running.next_event().await {
            CallEvent::Done(outcome) => return words(&outcome),
            CallEvent::InputRequests(input_requests) => panic!("{input_requests:?}"),
            CallEvent::Notification(_) => {}
        }
    }
}

/// Steps a call to its next question.
pub(crate) async fn asked(running: &mut CallStream) -> PendingInputRequest {
    loop {
        match running.next_event().await {
            CallEvent::InputRequests(mut input_requests) => return input_requests.remove(0),
            CallEvent::Done(outcome) => panic!("{}", words(&outcome)),
            CallEvent::Notification(_) => {}
        }
    }
}

pub(crate) fn words(outcome: &Outcome) -> String {
    match outcome {
        Ok(Reply::Result(result)) if result.get("isError").is_none() => "run".to_owned(),
        Ok(Reply::InputRequired(_)) => "asks".to_owned(),
        Ok(reply) => format!("{reply:?}"),
        Err(error) => format!("{:?}: {}", error.kind, error.public),
    }
}

/// Counts calls that reach it.
#[derive(Default)]
pub(crate) struct Maker(Arc<AtomicUsize>);

impl Provider for Maker {
    fn name(&self) -> &str {
        "maker"
    }

    fn serve(&self, call: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let is_first = call.call.input.state.is_none();
        let reply = match call.target.name() {
            "asks" if is_first => Reply::InputRequired(InputRequired {
                requests: None,
                state: Some(RawJson::string("state")),
            }),
            _ => Reply::result(RawJson::from_static(r#"{"content":[]}"#)),
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

/// The rules with one that is about every tool, or none, behind one that is about none of them.
fn rules(effect: Option<RuleEffect>, default_allows: bool) -> Rules {
    let mut other = Rule::new("elsewhere", RuleEffect::Allow);
    other.what.tools = vec!["other_*".to_owned()];
    let rule = effect.map(|effect| Rule::new("the rule", effect));
    let rules = [other].into_iter().chain(rule).collect();
    Rules::new(RuleSet::new(rules, default_allows))
}

struct Record(Arc<Mutex<Vec<PolicyDecision>>>);

impl CallObserver for Record {
    fn ended(&self, call: &CallSummary<'_>, _: &CallEnd<'_>) -> Recorded {
        *self.0.lock().unwrap() = call.context.decisions();
        None
    }
}

/// A call that brings answers and state along, as a client does that takes questions over.
pub(crate) fn continued(mut call: Call, responses: &str, state: Option<&str>) -> Call {
    call.takes_input_requests = true;
    let responses = RawJson::parse(responses.to_owned(), JsonLimits::default()).unwrap();
    call.input = Input { responses: Some(responses), state: state.map(RawJson::string) };
    call
}
