//! A gateway whose filters, provider and observer note that they were reached.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{Method, RawJson};

use crate::filter::{
    CallEnd, CallFilter, CallObserver, CallSummary, Decision, OnEnd, Permit, Recorded,
    RequestFilter,
};
use crate::{
    Call, CallContext, CallError, CallEvent, Caller, ErrorKind, Gateway, InputRequest,
    InputRequired, Listing, Outcome, Provider, Publisher, Reply, Resolved, ServerInfo, Settings,
    ToolEntry,
};

/// What was reached, in order, and how the calls ended.
#[derive(Debug, Clone, Default)]
struct Probe(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    seen: Vec<&'static str>,
    witnessed: Vec<String>,
}

/// A gateway with probes in every place.
pub(super) struct Fixture {
    pub(super) gateway: Arc<Gateway>,
    pub(super) publisher: Publisher,
    probe: Probe,
}

/// The tools by what they do; `good` only is not told apart.
const TOOLS: [&str; 13] = [
    "good",
    "defaulted",
    "unrecorded",
    "warded",
    "hangs",
    "fails",
    "lies",
    "panics",
    "panics_at_once",
    "asks",
    "inquires",
    "sheds",
    "waited",
];

impl Fixture {
    pub(super) fn new(settings: Settings) -> Self {
        let probe = Probe::default();
        let gateway = Gateway::builder(ServerInfo::new("probe", "1"))
            .settings(settings)
            .observer(probe.clone())
            .request_filter(probe.clone())
            .call_filter(probe.clone())
            .build();
        Self::furnish(gateway, probe)
    }

    /// A virtual server of the same gateway, with the same tools.
    pub(super) fn virtual_server(&self) -> Self {
        Self::furnish(self.gateway.virtual_server(ServerInfo::new("face", "1")), self.probe.clone())
    }

    fn furnish(gateway: Arc<Gateway>, probe: Probe) -> Self {
        let publisher = gateway.attach(Arc::new(probe.clone()));
        let tools = TOOLS.map(|name| Arc::new(tool(name)));
        publisher.publish(Listing { tools: tools.into(), ..Listing::default() });
        Self { gateway, publisher, probe }
    }

    /// Runs a call that says nothing before its end.
    pub(super) async fn run(&self, call: Call) -> Outcome {
        match self.gateway.start(call).next_event().await {
            CallEvent::Done(outcome) => outcome,
            next_event => panic!("an end, not {next_event:?}"),
        }
    }

    pub(super) fn seen(&self) -> String {
        self.probe.notes(|notes| notes.seen.join(" "))
    }

    pub(super) fn witnessed(&self) -> Vec<String> {
        self.probe.notes(|notes| notes.witnessed.clone())
    }
}

impl Probe {
    fn notes<T>(&self, read: impl FnOnce(&mut Notes) -> T) -> T {
        read(&mut self.0.lock().unwrap())
    }

    fn saw(&self, what: &'static str) {
        self.notes(|notes| notes.seen.push(what));
    }
}

impl RequestFilter for Probe {
    fn check<'a>(&'a self, call: &'a Call, _: &'a CallContext) -> Decision<'a> {
        self.saw("request-filter");
        // Not a tool that is listed: the request filter runs before the name is resolved.
        match is_for(call, "locked") {
            true => Decision::refused(CallError::new(ErrorKind::Refused, "locked")),
            false => Decision::GRANTED,
        }
    }
}

impl CallFilter for Probe {
    fn check<'a>(&'a self, resolved: &'a Resolved, _: &'a CallContext) -> Decision<'a> {
        self.saw("call-filter");
        Decision::Later(Box::pin(async move {
            // A person may take longer than any deadline.
            tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
            let arguments = resolved.call.head.arguments.as_ref();
            let is_filled = arguments.is_some_and(|it| it.get("filled").is_some());
            match is_filled || is_for(&resolved.call, "warded") {
                true => Err(CallError::new(ErrorKind::Refused, "warded")),
                false => Ok(Permit::holding(self.clone())),
            }
        }))
    }
}

impl OnEnd for Probe {
    fn ended(&mut self, _: &Outcome) -> Result<(), CallError> {
        self.saw("permit");
        Ok(())
    }
}

impl CallObserver for Probe {
    fn begun(&self, summary: &CallSummary<'_>) -> Recorded {
        self.saw("begun");
        let refusal = is_for(summary.call, "unrecorded")
            .then(|| CallError::new(ErrorKind::Internal, "no room for the record"));
        Some(Box::pin(async move { refusal.map_or(Ok(()), Err) }))
    }

    fn ended(&self, summary: &CallSummary<'_>, end: &CallEnd<'_>) -> Recorded {
        assert_eq!(&*summary.call.caller.principal, "someone");
        self.saw("observer");
        self.notes(|notes| notes.witnessed.push(ended(end.outcome)));
        None
    }
}

impl Provider for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn serve(&self, resolved: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        self.saw("provider");
        assert!(resolved.target.name() != "panics_at_once", "a secret");
        Box::pin(serve(resolved.clone(), context.clone()))
    }
}

async fn serve(resolved: Resolved, context: CallContext) -> Outcome {
    let arguments = resolved.call.params.get("arguments").unwrap();
    let number = |member| arguments.get(member).and_then(|it| it.read::<u64>()).unwrap_or(0);
    let good = r#"{"content":[],"structuredContent":{"fine":true}}"#;
    match resolved.target.name() {
        "hangs" => std::future::pending().await,
        "fails" => Err(CallError::new(ErrorKind::ToolFailed, "broken")),
        "lies" => Ok(Reply::result(raw(r#"{"content":[],"structuredContent":{"fine":1}}"#))),
        "panics" => panic!("a secret"),
        "asks" => {
            tokio::time::sleep(Duration::from_secs(number("before"))).await;
            context.ask("folders", InputRequest::roots()).await?;
            tokio::time::sleep(Duration::from_secs(number("after"))).await;
            Ok(Reply::result(raw(good)))
        }
        tool @ ("inquires" | "sheds") => {
            let input = &resolved.call.input;
            let state = input.state.as_ref().and_then(RawJson::to_text);
            let round: u64 = state.map_or(0, |it| it.parse().unwrap());
            if round == number("rounds") {
                return Ok(Reply::result(raw(good)));
            }
            let asks = tool == "inquires";
            assert_eq!(input.responses.is_some(), asks && round > 0, "nothing else is answered");
            let requests = match asks {
                true => Some(raw(r#"{"folders":{"method":"roots/list"}}"#)),
                // Both mean the same.
                false => round.is_multiple_of(2).then_some(RawJson::EMPTY_OBJECT),
            };
            let state = Some(RawJson::string(&(round + 1).to_string()));
            Ok(Reply::InputRequired(InputRequired { requests, state }))
        }
        "waited" => {
            context.note_standby(true);
            Ok(Reply::result(raw(good)))
        }
        _ => Ok(Reply::result(raw(good))),
    }
}

/// What a call came to, in a word.
pub(super) fn ended(outcome: &Outcome) -> String {
    match outcome {
        Ok(Reply::Result(result)) => {
            let detail = result.get("_meta").and_then(|meta| meta.get("gantry/error"));
            detail.map_or("ok".to_owned(), |it| it.get("error_type").unwrap().to_text().unwrap())
        }
        Ok(Reply::Page(_)) => "page".to_owned(),
        Ok(Reply::InputRequired(_)) => "input required".to_owned(),
        Err(error) => {
            let kind = format!("{:?}", error.kind);
            kind.split(' ').next().unwrap_or_default().to_owned()
        }
    }
}

pub(super) fn call_tool(name: &str, arguments: &str) -> Call {
    let params = raw(&format!(r#"{{"name":"{name}","arguments":{arguments}}}"#));
    Call::new(Method::ToolsCall, params, Arc::new(Caller::new("someone")))
}

pub(super) fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

fn is_for(call: &Call, tool: &str) -> bool {
    call.params.get("name").and_then(|name| name.to_text()).as_deref() == Some(tool)
}

fn tool(name: &str) -> ToolEntry {
    let more = if name == "defaulted" { r#","filled":{"default":true}"# } else { "" };
    let definition = format!(
        r#"{{"name":"{name}",
            "inputSchema":{{"type":"object","properties":{{"n":{{"type":"number"}}{more}}}}},
            "outputSchema":{{"type":"object","properties":{{"fine":{{"type":"boolean"}}}}}}}}"#
    );
    ToolEntry::new(raw(&definition)).unwrap()
}
