//! What log lines, traces and metrics know of a call while it is under way.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::probe::{Fixture, call_tool, raw};
use crate::filter::{
    CallEnd, CallFilter, CallObserver, CallSummary, Decision, PolicyDecision, Recorded,
};
use crate::{
    Call, CallContext, CallError, CallEvent, ErrorKind, Gateway, Listing, Outcome, Provider, Reply,
    Resolved, ServerInfo, Settings, Span, ToolEntry, Trace, with_current,
};

/// Where it was asked, and which call was the current one there.
type Glance = (&'static str, Option<String>);

/// Writes down which call is the current one, wherever it is asked.
#[derive(Clone, Default)]
struct TraceRecorder(Arc<Mutex<Vec<Glance>>>);

impl TraceRecorder {
    fn look(&self, place: &'static str) {
        let current = with_current(|context| {
            let name = context.call().head.name.as_ref().unwrap();
            format!("{name} {}", context.number())
        });
        self.0.lock().unwrap().push((place, current));
    }

    fn seen(&self) -> Vec<Glance> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Looks when it is dropped.
struct Closing(TraceRecorder);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.look("drop");
    }
}

impl CallFilter for TraceRecorder {
    fn check<'a>(&'a self, _: &'a Resolved, _: &'a CallContext) -> Decision<'a> {
        self.look("call-filter");
        Decision::GRANTED
    }
}

impl CallObserver for TraceRecorder {
    fn arrived(&self, _: &Call, _: &CallContext) {
        self.look("arrived");
    }

    fn ended(&self, _: &CallSummary<'_>, _: &CallEnd<'_>) -> Recorded {
        self.look("ended");
        None
    }
}

impl Provider for TraceRecorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn serve(&self, resolved: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        let (recorder, hangs) = (self.clone(), resolved.target.name() == "hangs");
        Box::pin(async move {
            let _closing = Closing(recorder.clone());
            tokio::task::yield_now().await;
            recorder.look("provider");
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(Reply::result(raw("{}")))
        })
    }
}

fn watched(recorder: &TraceRecorder) -> Arc<Gateway> {
    let builder = Gateway::builder(ServerInfo::new("recorder", "1"));
    let gateway = builder.observer(recorder.clone()).call_filter(recorder.clone()).build();
    let publisher = gateway.attach(Arc::new(recorder.clone()));
    let tool = |name| {
        let text = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
        Arc::new(ToolEntry::new(raw(&text)).unwrap())
    };
    let tools = ["quick", "hangs"].map(tool).into();
    publisher.publish(Listing { tools, ..Listing::default() });
    gateway
}

#[tokio::test]
async fn whatever_is_done_for_a_call_knows_which_one_it_is() {
    let recorder = TraceRecorder::default();
    let gateway = watched(&recorder);
    let mut running = gateway.start(call_tool("quick", "{}"));
    assert!(matches!(running.next_event().await, CallEvent::Done(Ok(_))));
    recorder.look("outside");
    let seen = recorder.seen();
    let places: Vec<_> = seen.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, ["arrived", "call-filter", "provider", "drop", "ended", "outside"]);
    let first = seen[0].1.clone().unwrap();
    assert!(first.starts_with("\"quick\" "), "{first}");
    for (place, current) in &seen[..5] {
        assert_eq!(current.as_deref(), Some(first.as_str()), "{place}");
    }
    assert_eq!(seen[5].1, None, "a call is forgotten when it is over");
}

#[tokio::test]
async fn a_call_that_is_given_up_is_known_too() {
    let recorder = TraceRecorder::default();
    let gateway = watched(&recorder);
    let mut running = gateway.start(call_tool("hangs", "{}"));
    for _ in 0..3 {
        assert!(running.next_event().now_or_never().is_none());
    }
    drop(running);
    let seen = recorder.seen();
    assert!(seen.iter().all(|(_, current)| current.is_some()), "{seen:?}");
    assert_eq!(seen.last().unwrap().0, "ended");
}

#[test]
fn the_trace_that_is_passed_on() {
    let came = Trace::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Some("a=1"));
    let mut call = call_tool("good", "{}");
    let context = |call: &Call| CallContext::new(Arc::new(call.clone()), 1, Duration::from_secs(1));
    assert_eq!(context(&call).trace(), None);
    call.trace = came.clone().map(Arc::new);
    let context = context(&call);
    assert_eq!(context.trace().as_deref(), came.as_ref(), "as it came, while none is recorded");
    context.set_span(Span {
        trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
        parent: None,
        call: 1,
        work: 2,
        sampled: true,
        state: Some("a=1".to_owned()),
        begun: OnceLock::new(),
    });
    let onward = context.trace().unwrap();
    assert_eq!(onward.parent, "00-0af7651916cd43dd8448eb211c80319c-0000000000000002-01");
    assert_eq!(onward.state.as_deref(), Some("a=1"));
    let whole = context.span().unwrap().whole();
    assert_eq!(whole.parent, "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01");
}

/// Refuses everything, and puts a name to it or not.
struct Refusal(Option<&'static str>);

impl CallFilter for Refusal {
    fn check<'a>(&'a self, _: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        if let Some(policy) = self.0 {
            context.note_decision(PolicyDecision { allowed: false, policy, rule: "r".into() });
        }
        Decision::refused(CallError::new(ErrorKind::Refused, "no"))
    }
}

#[tokio::test(start_paused = true)]
async fn refused_calls_are_counted_by_policy() {
    let count = |gateway: &Gateway| {
        let mut out = String::new();
        gateway.metrics().write(&mut out);
        let lines = out.lines().filter(|line| line.starts_with("gantry_calls_refused_total{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for (policy, label) in [(Some("rules"), "rules"), (None, "other")] {
        let recorder = TraceRecorder::default();
        let builder =
            Gateway::builder(ServerInfo::new("refusing", "1")).call_filter(Refusal(policy));
        let gateway = builder.build();
        let publisher = gateway.attach(Arc::new(recorder.clone()));
        let definition = raw(r#"{"name":"quick","inputSchema":{"type":"object"}}"#);
        let tools = vec![Arc::new(ToolEntry::new(definition).unwrap())];
        publisher.publish(Listing { tools, ..Listing::default() });
        gateway.start(call_tool("quick", "{}")).next_event().await;
        gateway.start(call_tool("absent", "{}")).next_event().await;
        let expected = format!("gantry_calls_refused_total{{policy=\"{label}\"}} 1");
        assert_eq!(count(&gateway), [expected], "one that is not found was not refused");
    }
    let fixture = Fixture::new(Settings { calls_in_flight: 0, ..Settings::default() });
    let _ = fixture.run(call_tool("good", "{}")).await;
    assert_eq!(count(&fixture.gateway), ["gantry_calls_refused_total{policy=\"in flight\"} 1"]);
}
