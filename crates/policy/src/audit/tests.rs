//! What is recorded of calls, and what happens when it cannot be.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use gantry_gateway::filter::{CallFilter, Decision, PolicyDecision};
use gantry_gateway::{
    Call, CallContext, CallError, CallEvent, Caller, ErrorKind, Gateway, Listing, Outcome,
    Provider, Reply, Resolved, ServerInfo, ToolEntry, Trace,
};

use gantry_protocol::Method;

use super::*;
use crate::limits::{LimitSettings, Limits};

/// A log that keeps everything, until it is broken.
#[derive(Debug, Default)]
struct Lines(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    is_full: bool,
    /// How many lines can still be kept; any number if none.
    room: Option<usize>,
}

impl Lines {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).lines)
    }

    fn leave_room_for(&self, lines: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).room = Some(lines);
    }
}

impl AuditSink for Lines {
    fn note(&self, record: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.lines.push(format!("{{{}}}", String::from_utf8_lossy(record)));
    }

    fn keep(&self, record: &[u8]) -> BoxFuture<'static, Result<(), AuditLogError>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.room == Some(0) {
            return ready(Err(AuditLogError("no room".to_owned()))).boxed();
        }
        state.room = state.room.map(|room| room - 1);
        drop(state);
        self.note(record);
        ready(Ok(())).boxed()
    }

    fn is_full(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_full
    }
}

/// Tools that count their runs.
#[derive(Debug, Default)]
struct Tools(Mutex<usize>);

impl Provider for Tools {
    fn name(&self) -> &str {
        "tools"
    }

    fn serve(&self, call: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        match call.target.name() {
            "hangs" => futures_util::future::pending().boxed(),
            "fails" => ready(Err(CallError::new(ErrorKind::ToolFailed, "it broke"))).boxed(),
            _ => ready(Ok(Reply::result(RawJson::from_static(r#"{"content":[]}"#)))).boxed(),
        }
    }
}

/// Refuses one tool by a rule.
struct Refusing;

impl CallFilter for Refusing {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let allowed = call.target.name() != "refused";
        context.note_decision(PolicyDecision {
            allowed,
            policy: "rules",
            rule: "no refused".into(),
        });
        match allowed {
            true => Decision::GRANTED,
            false => Decision::refused(CallError::new(ErrorKind::Refused, "no")),
        }
    }
}

struct TestGateway {
    gateway: Arc<Gateway>,
    audit: Arc<Audit>,
    lines: Arc<Lines>,
    tools: Arc<Tools>,
}

fn test_gateway(settings: AuditSettings) -> TestGateway {
    let (lines, tools) = (Arc::<Lines>::default(), Arc::<Tools>::default());
    let audit = Audit::new(
        lines.clone(),
        settings,
        Arc::new(|it: &RawJson| it.edit().set("pin", RawJson::string("…")).apply().compact()),
    );
    let refused = Some("5/min".parse().expect("a rate"));
    let limits = Limits::new(LimitSettings { refused, ..LimitSettings::default() });
    let gateway = Gateway::builder(ServerInfo::new("test", "1"))
        .observer(audit.observer())
        .call_filter(Refusing)
        .refusal_filter(limits.refused())
        .build();
    let entry = |name: &str| {
        let definition =
            format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","required":["a"]}}}}"#);
        let definition = RawJson::parse(definition, JsonLimits::default()).expect("JSON");
        Arc::new(ToolEntry::new(definition).expect("a tool"))
    };
    let names = ["good", "fails", "hangs", "refused"];
    let listing = Listing { tools: names.map(entry).into(), ..Listing::default() };
    gateway.attach(tools.clone()).publish(listing);
    TestGateway { gateway, audit, lines, tools }
}

impl TestGateway {
    async fn call(&self, name: &str, arguments: &'static str) -> Outcome {
        match self.gateway.start(call(name, arguments)).next_event().await {
            CallEvent::Done(outcome) => outcome,
            step => panic!("an end, not {step:?}"),
        }
    }

    fn runs(&self) -> usize {
        *self.tools.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn call(name: &str, arguments: &'static str) -> Call {
    let params = ObjectWriter::new()
        .value("name", name)
        .raw("arguments", &RawJson::from_static(arguments))
        .finish();
    let mut caller = Caller::new("ada");
    caller.client_info = Some(RawJson::from_static(r#"{"name":"editor","version":"1"}"#));
    caller.virtual_server = Some("docs".into());
    let mut call = Call::new(Method::ToolsCall, params, Arc::new(caller));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned();
    call.trace = Some(Arc::new(Trace { parent, state: None }));
    call
}

/// A record without what differs from run to run.
fn timeless(line: &str) -> String {
    let record = RawJson::parse(line.to_owned(), JsonLimits::default()).expect("JSON");
    assert!(record.get("at").is_some() && record.get("call").is_some(), "{line}");
    record.edit().remove("at").remove("call").remove("took_us").apply().as_str().to_owned()
}

const DIGEST: &str = "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";

#[tokio::test]
async fn what_is_recorded_of_each_call() {
    let test_gateway = test_gateway(AuditSettings::default());
    let allowed = r#""decision":{"allowed":true,"policy":"rules","rule":"no refused"},"#;
    let refused = r#""decision":{"allowed":false,"policy":"rules","rule":"no refused"},"#;
    let cases = [
        ("good", "{ \"a\": 1 }", allowed, "ok"),
        ("good", "{\"a\":1}", allowed, "ok"),
        ("fails", "{\"a\":1}", allowed, "ToolExecutionError"),
        ("refused", "{\"a\":1}", refused, "PermissionError"),
        ("unheard_of", "{\"a\":1}", "", "ToolNotFoundError"),
    ];
    for (name, arguments, decision, outcome) in cases {
        let _ = test_gateway.call(name, arguments).await;
        let lines = test_gateway.lines.take();
        let expected = format!(
            r#"{{"phase":"ended","principal":"ada","client":"editor","face":"docs","method":"tools/call","tool":"{name}",{decision}"arguments":"{DIGEST}","outcome":"{outcome}","trace":"0af7651916cd43dd8448eb211c80319c"}}"#
        );
        assert_eq!(lines.iter().map(|it| timeless(it)).collect::<Vec<_>>(), [expected]);
    }
    let _ = test_gateway.call("good", "{}").await;
    assert!(test_gateway.lines.take()[0].contains("\"outcome\":\"ValidationError\""));
    let mut running = test_gateway.gateway.start(call("hangs", "{\"a\":1}"));
    assert!(running.next_event().now_or_never().is_none(), "it hangs");
    drop(running);
    assert!(test_gateway.lines.take()[0].contains("\"outcome\":\"given up\""));
}

#[tokio::test]
async fn arguments_are_kept_as_the_setting_says() {
    let long: &'static str = format!("{{\"a\":\"{}\"}}", "x".repeat(100)).leak();
    let cases = [
        (AuditedArguments::Digest, "{\"a\":1,\"pin\":2}", "\"arguments\":\"sha256:"),
        (
            AuditedArguments::Redacted,
            "{ \"a\":1,\n\"pin\":2}",
            "\"arguments\":{\"a\":1,\"pin\":\"…\"}",
        ),
        (AuditedArguments::Redacted, long, "\"arguments\":\"sha256:"),
        (AuditedArguments::None, "{\"a\":1}", "\"outcome\""),
    ];
    for (arguments, given, expected) in cases {
        let test_gateway =
            test_gateway(AuditSettings { arguments, redacted: 64, ..AuditSettings::default() });
        test_gateway.call("good", given).await.expect("it is well");
        let line = test_gateway.lines.take().remove(0);
        assert!(line.contains(expected), "{given}: {line}");
        assert!(!line.contains('\n') && !line.contains("\"pin\":2"), "{line}");
        assert_eq!(line.contains("arguments"), arguments != AuditedArguments::None, "{line}");
    }
}

#[tokio::test]
async fn lists_are_recorded_when_wanted_and_nothing_when_not() {
    let lists = |lists| AuditSettings { lists, ..AuditSettings::default() };
    let off = AuditSettings { mode: AuditMode::Off, ..lists(true) };
    for (settings, expected) in [(lists(false), 0), (lists(true), 1), (off, 0)] {
        let test_gateway = test_gateway(AuditSettings::default());
        test_gateway.audit.configure(settings.clone());
        let list = Call::new(Method::ToolsList, RawJson::EMPTY_OBJECT, Arc::default());
        assert!(matches!(
            test_gateway.gateway.start(list).next_event().await,
            CallEvent::Done(Ok(_))
        ));
        assert_eq!(test_gateway.lines.take().len(), expected, "{settings:?}");
    }
}

#[tokio::test]
async fn in_strict_mode_nothing_runs_that_is_not_recorded() {
    let strict = AuditSettings { mode: AuditMode::Strict, ..AuditSettings::default() };
    let cases = [
        // How many lines find room, whether the tool runs, and what the caller is told.
        (2, 1, ""),
        (
            1,
            1,
            "the call was made, but its end cannot be recorded, and the audit is strict (no room)",
        ),
        (0, 0, "the call was refused: it cannot be recorded, and the audit is strict (no room)"),
    ];
    for (room, runs, expected) in cases {
        let test_gateway = test_gateway(strict.clone());
        test_gateway.lines.leave_room_for(room);
        let outcome = test_gateway.call("good", "{\"a\":1}").await;
        assert_eq!(test_gateway.runs(), runs, "{expected}");
        let told = outcome.err().map(|error| error.public).unwrap_or_default();
        assert!(told.starts_with(expected) && told.is_empty() == expected.is_empty(), "{told}");
        let lines = test_gateway.lines.take();
        match room {
            2 => assert!(lines[0].contains("begun") && lines[1].contains("ended"), "{lines:?}"),
            1 => assert!(lines.len() == 1 && lines[0].contains("begun"), "{lines:?}"),
            // It is offered once more, for a log that has room again.
            _ => assert!(lines[0].contains(r#""policy":"audit","rule":"strict""#), "{lines:?}"),
        }
    }
    let test_gateway = test_gateway(strict);
    test_gateway.lines.leave_room_for(0);
    let told = test_gateway.call("refused", "{\"a\":1}").await.expect_err("it is refused").public;
    assert!(told.starts_with("the call failed, but"), "{told}");
}

#[tokio::test]
async fn one_listener_hears_and_never_holds_up() {
    let test_gateway = test_gateway(AuditSettings::default());
    let mut records = test_gateway.audit.listen(1).expect("the first listener");
    assert!(test_gateway.audit.listen(1).is_none(), "there is one already");
    for _ in 0..3 {
        test_gateway.call("good", "{\"a\":1}").await.expect("it is well");
    }
    let heard = records.recv().await.expect("a record");
    assert_eq!(heard.record.get("tool").and_then(|it| it.to_text()).as_deref(), Some("good"));
    assert_eq!(test_gateway.audit.unheard(), 2);
}

#[tokio::test]
async fn names_that_clients_chose_are_cut() {
    let test_gateway = test_gateway(AuditSettings { name: 10, ..AuditSettings::default() });
    let _ = test_gateway.call(&"x".repeat(5000), "{\"a\":1}").await;
    let line = test_gateway.lines.take().remove(0);
    assert!(line.contains(r#""tool":"xxxxxxxxxx…""#), "{line}");
}

/// Everything that a caller chooses is cut by the bytes that it takes in the log.
#[tokio::test]
async fn what_callers_choose_is_cut_by_bytes_as_they_are_written() {
    let long = |part: &str| part.repeat(5000);
    for part in ["x", "\u{1}", "\"", "\\", "\n", "ä", "日", "\u{1f600}", "a\u{1f600}\u{7}"] {
        let test_gateway = test_gateway(AuditSettings::default());
        let mut call = call(&long(part), "{\"a\":1}");
        let mut caller = Caller::new(long(part));
        caller.client_info = Some(RawJson::array([&RawJson::NULL]));
        let info = ObjectWriter::new().value("name", &long(part));
        caller.client_info = Some(info.finish());
        caller.virtual_server = Some(long(part).into());
        call.caller = Arc::new(caller);
        let CallEvent::Done(outcome) = test_gateway.gateway.start(call).next_event().await else {
            panic!("an end")
        };
        assert!(outcome.is_err(), "there is no such tool");
        let line = test_gateway.lines.take().remove(0);
        let record = RawJson::parse(line.clone(), JsonLimits::default()).expect("JSON");
        for key in ["principal", "client", "face", "tool"] {
            let said = record.get(key).expect(key);
            let text = said.to_text().expect("text");
            assert!(said.bytes().len() <= 256 + 5, "{key} of {part:?}: {}", said.bytes().len());
            let start = text.strip_suffix('…').expect("it is marked as cut");
            assert!(!start.is_empty() && long(part).starts_with(start), "{key} of {part:?}");
        }
        assert!(line.len() < 2048, "{part:?}: {}", line.len());
    }
}

/// The lines that count calls: how many each tells of.
fn counted(lines: &[String]) -> Vec<u64> {
    let suppressed = |line: &String| {
        let record = RawJson::parse(line.clone(), JsonLimits::default()).expect("JSON");
        assert_eq!(record.get("principal").and_then(|it| it.to_text()).as_deref(), Some("ada"));
        record.get("suppressed")?.read()
    };
    lines.iter().filter_map(suppressed).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_refused_too_often_are_counted_in_one_line() {
    for mode in [AuditMode::Batched, AuditMode::Strict] {
        let test_gateway = test_gateway(AuditSettings { mode, ..AuditSettings::default() });
        let flood = async |calls: usize| {
            for call in 0..calls {
                let name = ["none", "refused"][call % 2];
                assert!(test_gateway.call(name, "{\"a\":1}").await.is_err());
            }
        };
        flood(20).await;
        let lines = test_gateway.lines.take();
        assert_eq!((lines.len(), counted(&lines)), (6, vec![1]), "five, and the first too many");
        test_gateway.call("good", "{\"a\":1}").await.expect("other calls go on");
        let own = if mode == AuditMode::Strict { 2 } else { 1 };
        assert_eq!(test_gateway.lines.take().len(), own, "and are recorded");
        test_gateway.audit.write_suppressed(false);
        assert_eq!(test_gateway.lines.take(), Vec::<String>::new(), "not due yet");
        tokio::time::advance(AuditSettings::default().summary).await;
        test_gateway.audit.write_suppressed(false);
        assert_eq!(counted(&test_gateway.lines.take()), [14]);
        // A minute later five more have a line each.
        flood(20).await;
        let lines = test_gateway.lines.take();
        assert_eq!((lines.len(), counted(&lines)), (6, vec![1]));
        test_gateway.audit.write_suppressed(true);
        assert_eq!(counted(&test_gateway.lines.take()), [14], "at the end of the program");
        test_gateway.audit.write_suppressed(true);
        assert_eq!(test_gateway.lines.take(), Vec::<String>::new(), "once");
    }
}

#[tokio::test]
async fn when_the_log_is_full_calls_go_on_or_are_refused_as_the_setting_says() {
    let cases = [
        (AuditMode::Batched, WhenFull::Alarm, 1),
        (AuditMode::Strict, WhenFull::Alarm, 1),
        (AuditMode::Batched, WhenFull::Refuse, 0),
        (AuditMode::Strict, WhenFull::Refuse, 0),
        (AuditMode::Off, WhenFull::Refuse, 1),
    ];
    for (mode, when_full, runs) in cases {
        let test_gateway =
            test_gateway(AuditSettings { mode, when_full, ..AuditSettings::default() });
        test_gateway.lines.0.lock().unwrap_or_else(PoisonError::into_inner).is_full = true;
        let outcome = test_gateway.call("good", "{\"a\":1}").await;
        assert_eq!(test_gateway.runs(), runs, "{mode:?} {when_full:?}");
        let Err(error) = outcome else { continue };
        assert!(error.public.contains("the audit log is larger than it may be"), "{error}");
        let line = test_gateway.lines.take().remove(0);
        assert!(line.contains(r#""policy":"audit","rule":"full""#), "{line}");
        // They are refused calls like others: nobody fills the log with them.
        for _ in 0..20 {
            let _ = test_gateway.call("good", "{\"a\":1}").await;
        }
        assert!(test_gateway.lines.take().len() <= 5, "{mode:?} {when_full:?}");
    }
}

#[tokio::test]
async fn a_line_is_no_longer_than_it_may_be() {
    let redacted = AuditSettings {
        arguments: AuditedArguments::Redacted,
        redacted: 1 << 20,
        line: 4096,
        name: 2000,
        ..AuditSettings::default()
    };
    let long: &'static str = format!("{{\"a\":\"{}\"}}", "x".repeat(50_000)).leak();
    for (name, arguments) in [("good".to_owned(), long), ("\u{1}".repeat(5000), "{\"a\":1}")] {
        let test_gateway = test_gateway(redacted.clone());
        let mut call = call(&name, arguments);
        let mut caller = Caller::new("\u{1}".repeat(5000));
        caller.virtual_server = Some("\u{1}".repeat(5000).into());
        call.caller = Arc::new(caller);
        let _ = test_gateway.gateway.start(call).next_event().await;
        let line = test_gateway.lines.take().remove(0);
        assert!(line.len() <= redacted.line && line.contains("sha256:"), "{}: {line}", line.len());
    }
}
