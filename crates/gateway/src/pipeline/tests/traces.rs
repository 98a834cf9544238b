//! What log lines, traces and metrics know of a call while it is under way.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::probe::{House, call_tool, raw};
use crate::policy::{Admission, CallEnd, CallSummary, Decision, Known, Ward, Witness};
use crate::{
    Call, CallError, ErrorKind, Exchange, Gateway, Identity, Listing, Outcome, Provider, Reply,
    Resolved, Settings, Span, Step, ToolEntry, Trace, with_current,
};

/// Where it was asked, and which call was the current one there.
type Glance = (&'static str, Option<String>);

/// Writes down which call is the current one, wherever it is asked.
#[derive(Clone, Default)]
struct Eyes(Arc<Mutex<Vec<Glance>>>);

impl Eyes {
    fn look(&self, place: &'static str) {
        let current = with_current(|exchange| {
            let name = exchange.call().head.name.as_ref().unwrap();
            format!("{name} {}", exchange.number())
        });
        self.0.lock().unwrap().push((place, current));
    }

    fn seen(&self) -> Vec<Glance> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Looks when it is dropped.
struct Closing(Eyes);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.look("drop");
    }
}

impl Ward for Eyes {
    fn admit<'a>(&'a self, _: &'a Resolved, _: &'a Exchange) -> Admission<'a> {
        self.look("ward");
        Admission::GRANTED
    }
}

impl Witness for Eyes {
    fn arrived(&self, _: &Call, _: &Exchange) {
        self.look("arrived");
    }

    fn ended(&self, _: &CallSummary<'_>, _: &CallEnd<'_>) -> Known {
        self.look("ended");
        None
    }
}

impl Provider for Eyes {
    fn name(&self) -> &str {
        "eyes"
    }

    fn serve(&self, resolved: &Resolved, _: &Exchange) -> BoxFuture<'static, Outcome> {
        let (eyes, hangs) = (self.clone(), resolved.target.name() == "hangs");
        Box::pin(async move {
            let _closing = Closing(eyes.clone());
            tokio::task::yield_now().await;
            eyes.look("provider");
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(Reply::result(raw("{}")))
        })
    }
}

fn watched(eyes: &Eyes) -> Arc<Gateway> {
    let builder = Gateway::builder(Identity::new("eyes", "1"));
    let gateway = builder.witness(eyes.clone()).ward(eyes.clone()).build();
    let publisher = gateway.attach(Arc::new(eyes.clone()));
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
    let eyes = Eyes::default();
    let gateway = watched(&eyes);
    let mut running = gateway.start(call_tool("quick", "{}"));
    assert!(matches!(running.step().await, Step::Done(Ok(_))));
    eyes.look("outside");
    let seen = eyes.seen();
    let places: Vec<_> = seen.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, ["arrived", "ward", "provider", "drop", "ended", "outside"]);
    let first = seen[0].1.clone().unwrap();
    assert!(first.starts_with("\"quick\" "), "{first}");
    for (place, current) in &seen[..5] {
        assert_eq!(current.as_deref(), Some(first.as_str()), "{place}");
    }
    assert_eq!(seen[5].1, None, "a call is forgotten when it is over");
}

#[tokio::test]
async fn a_call_that_is_given_up_is_known_too() {
    let eyes = Eyes::default();
    let gateway = watched(&eyes);
    let mut running = gateway.start(call_tool("hangs", "{}"));
    for _ in 0..3 {
        assert!(running.step().now_or_never().is_none());
    }
    drop(running);
    let seen = eyes.seen();
    assert!(seen.iter().all(|(_, current)| current.is_some()), "{seen:?}");
    assert_eq!(seen.last().unwrap().0, "ended");
}

#[test]
fn the_trace_that_is_passed_on() {
    let came = Trace::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Some("a=1"));
    let mut call = call_tool("good", "{}");
    let exchange = |call: &Call| Exchange::new(Arc::new(call.clone()), 1, Duration::from_secs(1));
    assert_eq!(exchange(&call).trace(), None);
    call.trace = came.clone().map(Arc::new);
    let exchange = exchange(&call);
    assert_eq!(exchange.trace().as_deref(), came.as_ref(), "as it came, while none is recorded");
    exchange.set_span(Span {
        trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
        parent: None,
        call: 1,
        work: 2,
        sampled: true,
        state: Some("a=1".to_owned()),
        begun: OnceLock::new(),
    });
    let onward = exchange.trace().unwrap();
    assert_eq!(onward.parent, "00-0af7651916cd43dd8448eb211c80319c-0000000000000002-01");
    assert_eq!(onward.state.as_deref(), Some("a=1"));
    let whole = exchange.span().unwrap().whole();
    assert_eq!(whole.parent, "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01");
}

/// Refuses everything, and puts a name to it or not.
struct Refusal(Option<&'static str>);

impl Ward for Refusal {
    fn admit<'a>(&'a self, _: &'a Resolved, exchange: &'a Exchange) -> Admission<'a> {
        if let Some(policy) = self.0 {
            exchange.note_decision(Decision { allowed: false, policy, rule: "r".into() });
        }
        Admission::refused(CallError::new(ErrorKind::Refused, "no"))
    }
}

#[tokio::test(start_paused = true)]
async fn refused_calls_are_counted_by_policy() {
    let count = |gateway: &Gateway| {
        let mut out = String::new();
        gateway.meter().write(&mut out);
        let lines = out.lines().filter(|line| line.starts_with("gantry_calls_refused_total{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for (policy, label) in [(Some("rules"), "rules"), (None, "other")] {
        let eyes = Eyes::default();
        let builder = Gateway::builder(Identity::new("refusing", "1")).ward(Refusal(policy));
        let gateway = builder.build();
        let publisher = gateway.attach(Arc::new(eyes.clone()));
        let definition = raw(r#"{"name":"quick","inputSchema":{"type":"object"}}"#);
        let tools = vec![Arc::new(ToolEntry::new(definition).unwrap())];
        publisher.publish(Listing { tools, ..Listing::default() });
        gateway.start(call_tool("quick", "{}")).step().await;
        gateway.start(call_tool("absent", "{}")).step().await;
        let expected = format!("gantry_calls_refused_total{{policy=\"{label}\"}} 1");
        assert_eq!(count(&gateway), [expected], "one that is not found was not refused");
    }
    let house = House::new(Settings { calls_in_flight: 0, ..Settings::default() });
    let _ = house.run(call_tool("good", "{}")).await;
    assert_eq!(count(&house.gateway), ["gantry_calls_refused_total{policy=\"in flight\"} 1"]);
}
