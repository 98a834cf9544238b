//! What an engineer relies on: the registry at run time, arguments, and ways to fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gantry_gateway::{
    Call, CallEvent, CallNotification, Caller, ErrorKind, Event, Gateway, Interest, ListKind,
    Outcome, Reply, ServerInfo, Subscription, TaskSupport,
};
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{Method, RawJson};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Context, Failure, Handlers, Json, Prompt, PromptMessage, RegisterError, Resource,
    ResourceTemplate, Tool,
};

/// A gateway with one registry in it.
struct TestGateway {
    gateway: Arc<Gateway>,
    handlers: Handlers,
}

impl TestGateway {
    fn new() -> Self {
        let gateway = Gateway::builder(ServerInfo::new("handlers", "1")).build();
        let handlers = Handlers::default();
        handlers.publish_to(gateway.attach(Arc::new(handlers.clone())));
        Self { gateway, handlers }
    }

    fn with(tool: Tool) -> Self {
        let gateway_fixture = Self::new();
        gateway_fixture.handlers.add_tool(tool).unwrap();
        gateway_fixture
    }

    fn subscribe(&self) -> Subscription {
        let interest =
            Interest { tools: true, prompts: true, resources: true, ..Interest::default() };
        self.gateway.subscribe(interest, &Arc::new(Caller::new("someone")))
    }

    async fn call(&self, method: Method, params: Value) -> Outcome {
        let params = raw(&params.to_string());
        let call = Call::new(method, params, Arc::new(Caller::new("someone")));
        match self.gateway.start(call).next_event().await {
            CallEvent::Done(outcome) => outcome,
            step => panic!("{step:?}"),
        }
    }

    async fn call_tool(&self, name: &str, arguments: Value) -> Outcome {
        self.call(Method::ToolsCall, json!({"name": name, "arguments": arguments})).await
    }

    async fn list(&self) -> Vec<String> {
        let Ok(Reply::Page(page)) = self.call(Method::ToolsList, json!({})).await else {
            panic!("a list")
        };
        let tools = page.result().get("tools").unwrap();
        tools.elements().map(|tool| tool.get("name").unwrap().to_text().unwrap()).collect()
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

fn value(outcome: Outcome) -> Value {
    match outcome {
        Ok(Reply::Result(result)) => result.read().unwrap(),
        outcome => panic!("a result, not {outcome:?}"),
    }
}

fn text(outcome: Outcome) -> String {
    value(outcome)["content"][0]["text"].as_str().unwrap().to_owned()
}

fn says(name: &str, description: &str, answer: &'static str) -> Tool {
    let schema = json!({"type": "object"});
    Tool::new(name, description)
        .input_schema(schema)
        .run(move |_: Value, _| async move { Ok::<_, Failure>(answer) })
}

async fn told(subscription: &mut Subscription) -> Vec<ListKind> {
    let mut kinds = Vec::new();
    while let Ok(Some(event)) =
        tokio::time::timeout(Duration::from_secs(1), subscription.next()).await
    {
        match event {
            Event::ListChanged(kind) => kinds.push(kind),
            event @ Event::ResourceUpdated { .. } => panic!("{event:?}"),
        }
    }
    kinds
}

#[tokio::test(start_paused = true)]
async fn tools_come_and_go_at_run_time() {
    let gateway_fixture = TestGateway::new();
    let mut subscription = gateway_fixture.subscribe();
    gateway_fixture.handlers.add_tool(says("b", "", "one")).unwrap();
    gateway_fixture.handlers.add_tool(says("a", "", "two")).unwrap();
    assert_eq!(told(&mut subscription).await, [ListKind::Tools]);
    assert_eq!(gateway_fixture.list().await, ["a", "b"]);
    assert_eq!(text(gateway_fixture.call_tool("b", json!({})).await), "one");

    assert!(gateway_fixture.handlers.remove_tool("b"));
    assert_eq!(told(&mut subscription).await, [ListKind::Tools]);
    assert!(!gateway_fixture.handlers.remove_tool("b"), "it is gone");
    assert_eq!(told(&mut subscription).await, [], "and nothing changed");
    let Err(error) = gateway_fixture.call_tool("b", json!({})).await else { panic!("an error") };
    assert_eq!(error.kind, ErrorKind::ToolNotFound);
}

#[tokio::test(start_paused = true)]
async fn the_same_definition_twice_is_no_change_and_another_is_refused() {
    let gateway_fixture = TestGateway::with(says("a", "same", "first"));
    let mut subscription = gateway_fixture.subscribe();
    gateway_fixture.handlers.add_tool(says("a", "same", "second")).unwrap();
    assert_eq!(text(gateway_fixture.call_tool("a", json!({})).await), "first", "the first stays");
    let refused = gateway_fixture.handlers.add_tool(says("a", "other", "third"));
    assert!(matches!(refused, Err(RegisterError::Taken(name)) if name == "a"));
    assert_eq!(text(gateway_fixture.call_tool("a", json!({})).await), "first");
    assert_eq!(told(&mut subscription).await, []);
    assert!(gateway_fixture.handlers.remove_tool("a"));
    gateway_fixture.handlers.add_tool(says("a", "other", "third")).unwrap();
    assert_eq!(text(gateway_fixture.call_tool("a", json!({})).await), "third");
}

#[test]
fn what_cannot_be_served_is_not_registered() {
    let handlers = Handlers::default();
    let cases: [(&str, Result<(), RegisterError>); 7] = [
        ("no handler", handlers.add_tool(Tool::new("a", ""))),
        ("an empty name", handlers.add_tool(says("", "", ""))),
        ("a bad name", handlers.add_tool(says("a b", "", ""))),
        ("a long name", handlers.add_tool(says(&"a".repeat(129), "", ""))),
        (
            "a bad schema",
            handlers.add_tool(
                Tool::new("a", "")
                    .input_schema(json!({"type": "objekt"}))
                    .run(async |_: Value, _| Ok::<_, Failure>("")),
            ),
        ),
        ("no handler", handlers.add_prompt(Prompt::new("a"))),
        (
            "a bad template",
            handlers.add_template(
                ResourceTemplate::new("test://{", "a")
                    .read(async |_, _, _| Ok::<_, Failure>("".to_owned())),
            ),
        ),
    ];
    for (what, registered) in cases {
        assert!(registered.is_err(), "{what}");
    }
}

#[tokio::test]
async fn resources_and_prompts_come_and_go_too() {
    let gateway_fixture = TestGateway::new();
    let resource =
        || Resource::new("test://a", "a").read(async |_, _| Ok::<_, Failure>("content".to_owned()));
    let prompt =
        || Prompt::new("p").render(async |_, _| Ok::<_, Failure>(PromptMessage::user("hello")));
    let read =
        async || gateway_fixture.call(Method::ResourcesRead, json!({"uri": "test://a"})).await;
    let get = async || gateway_fixture.call(Method::PromptsGet, json!({"name": "p"})).await;
    assert!(read().await.is_err() && get().await.is_err());
    gateway_fixture.handlers.add_resource(resource()).unwrap();
    gateway_fixture.handlers.add_prompt(prompt()).unwrap();
    assert!(read().await.is_ok() && get().await.is_ok());
    assert!(
        gateway_fixture.handlers.remove_resource("test://a")
            && gateway_fixture.handlers.remove_prompt("p")
    );
    let Err(error) = read().await else { panic!("an error") };
    assert_eq!(error.kind, ErrorKind::ResourceNotFound);
    assert!(get().await.is_err());
}

#[tokio::test]
async fn handlers_may_change_the_registry_they_are_in() {
    let gateway_fixture = TestGateway::new();
    let (at_once, later, completing) = (
        gateway_fixture.handlers.clone(),
        gateway_fixture.handlers.clone(),
        gateway_fixture.handlers.clone(),
    );
    let grown = |handlers: &Handlers, name: &str| {
        handlers.add_tool(says(name, "", "grown")).map_err(|error| Failure::new(error.to_string()))
    };
    let add = |name: &str| Tool::new(name, "").input_schema(json!({"type": "object"}));
    let grows_at_once = add("at_once").run(move |_: Value, _| {
        let grew = grown(&at_once, "one");
        async move { grew.map(|()| "grew") }
    });
    let grows_later = add("later").run(move |_: Value, _| {
        let handlers = later.clone();
        async move { grown(&handlers, "two").map(|()| "grew") }
    });
    gateway_fixture.handlers.add_tool(grows_at_once).unwrap();
    gateway_fixture.handlers.add_tool(grows_later).unwrap();
    let prompt = Prompt::new("p")
        .required("x", "")
        .complete("x", move |_| {
            let _ = grown(&completing, "three");
            vec!["grew".to_owned()]
        })
        .render(async |_, _| Ok::<_, Failure>(PromptMessage::user("")));
    gateway_fixture.handlers.add_prompt(prompt).unwrap();
    assert_eq!(text(gateway_fixture.call_tool("at_once", json!({})).await), "grew");
    assert_eq!(text(gateway_fixture.call_tool("later", json!({})).await), "grew");
    let params =
        json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "x", "value": ""}});
    let completed = value(gateway_fixture.call(Method::Complete, params).await);
    assert_eq!(completed["completion"]["values"], json!(["grew"]));
    assert_eq!(gateway_fixture.list().await, ["at_once", "later", "one", "three", "two"]);
}

#[tokio::test]
async fn defaults_are_filled_in_before_the_handler_sees_them() {
    let schema = json!({
        "type": "object",
        "properties": {
            "unit": {"type": "string", "default": "celsius"},
            "days": {"type": "integer", "default": 3},
            "deep": {"type": "object", "default": {}, "properties": {
                "on": {"type": "boolean", "default": true},
            }},
        },
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    let tool =
        Tool::new("t", "").input_schema(schema).run(move |arguments: Value, context: Context| {
            let params: Value = context.params().read().unwrap_or_default();
            assert_eq!(params["arguments"], arguments, "the context shows the same");
            notes.lock().unwrap().push(arguments);
            async { Ok::<_, Failure>(()) }
        });
    let gateway_fixture = TestGateway::with(tool);
    let cases = [
        (json!({}), json!({"unit": "celsius", "days": 3, "deep": {"on": true}})),
        (json!(null), json!({"unit": "celsius", "days": 3, "deep": {"on": true}})),
        (
            json!({"days": 5, "x": 1}),
            json!({"unit": "celsius", "days": 5, "x": 1, "deep": {"on": true}}),
        ),
        (
            json!({"deep": {"on": false}, "unit": "kelvin"}),
            json!({"unit": "kelvin", "days": 3, "deep": {"on": false}}),
        ),
    ];
    for (given, expected) in cases {
        value(gateway_fixture.call_tool("t", given).await);
        assert_eq!(seen.lock().unwrap().pop(), Some(expected));
    }
    let without = gateway_fixture.call(Method::ToolsCall, json!({"name": "t"})).await;
    value(without);
    assert_eq!(seen.lock().unwrap().pop().unwrap()["days"], 3);
}

#[derive(Deserialize, JsonSchema)]
struct Typed {
    name: String,
    #[serde(default = "one")]
    count: u32,
    tags: Option<Vec<String>>,
}

fn one() -> u32 {
    1
}

#[derive(serde::Serialize, JsonSchema)]
struct Sum {
    sum: u32,
}

#[tokio::test]
async fn typed_arguments_are_checked_before_the_handler_runs() {
    let tool = Tool::new("t", "").run(async |typed: Typed, _| {
        let tags = typed.tags.unwrap_or_default().join("+");
        Ok::<_, Failure>(format!("{} {} {tags}", typed.name, typed.count))
    });
    let gateway_fixture = TestGateway::with(tool);
    let cases = [
        (json!({"name": "x"}), "x 1 "),
        (json!({"name": "x", "count": 2, "tags": ["a", "b"]}), "x 2 a+b"),
        (json!({"name": "x", "tags": null, "more": {}}), "x 1 "),
    ];
    for (given, expected) in cases {
        assert_eq!(text(gateway_fixture.call_tool("t", given).await), expected);
    }
    let wrong = [
        json!({}),
        json!({"name": 7}),
        json!({"name": "x", "count": -1}),
        json!({"name": "x", "count": 1.5}),
        json!({"name": "x", "count": 4_294_967_296_u64}),
        json!({"name": "x", "tags": [1]}),
    ];
    for given in wrong {
        let result = value(gateway_fixture.call_tool("t", given.clone()).await);
        assert_eq!(result["isError"], true, "{given}");
        assert_eq!(result["_meta"]["gantry/error"]["error_type"], "ValidationError", "{given}");
    }
}

#[tokio::test]
async fn a_typed_result_is_structured_and_text() {
    let tool = Tool::new("t", "").run(async |_: Value, _| Ok::<_, Failure>(Json(Sum { sum: 7 })));
    let result = value(TestGateway::with(tool).call_tool("t", json!({})).await);
    assert_eq!(result["structuredContent"], json!({"sum": 7}));
    assert_eq!(result["content"][0]["text"], r#"{"sum":7}"#);
}

#[tokio::test]
async fn a_handler_fails_as_it_says() {
    type Fail = fn() -> Failure;
    let cases: [(Fail, Result<&str, ErrorKind>); 4] = [
        (|| Failure::new("no luck"), Ok("no luck")),
        (|| std::io::Error::other("disk").into(), Ok("disk")),
        (|| Failure::with_code(4001, "not on a Sunday"), Err(ErrorKind::Handler { code: 4001 })),
        (|| Failure::resource_not_found("test://x"), Err(ErrorKind::ResourceNotFound)),
    ];
    for (fail, expected) in cases {
        let tool = Tool::new("t", "")
            .input_schema(json!({"type": "object"}))
            .run(move |_: Value, _| async move { Err::<(), _>(fail()) });
        match (TestGateway::with(tool).call_tool("t", json!({})).await, expected) {
            (Err(error), Err(kind)) => assert_eq!(error.kind, kind),
            (outcome, Ok(expected)) => {
                let result = value(outcome);
                assert_eq!(result["isError"], true);
                assert_eq!(result["content"][0]["text"], expected);
            }
            (outcome, expected) => panic!("{outcome:?} is not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn a_prompt_or_resource_has_no_result_to_fail_in() {
    let gateway_fixture = TestGateway::new();
    let prompt = Prompt::new("p").render(async |_, _| Err::<PromptMessage, _>(Failure::new("no")));
    let resource =
        Resource::new("test://a", "a").read(async |_, _| Err::<String, _>(Failure::new("no")));
    gateway_fixture.handlers.add_prompt(prompt).unwrap();
    gateway_fixture.handlers.add_resource(resource).unwrap();
    let calls = [
        (Method::PromptsGet, json!({"name": "p"})),
        (Method::ResourcesRead, json!({"uri": "test://a"})),
    ];
    for (method, params) in calls {
        let Err(error) = gateway_fixture.call(method, params).await else { panic!("an error") };
        assert_eq!((error.kind, error.public.as_str()), (ErrorKind::Internal, "no"));
    }
}

#[tokio::test]
async fn a_tool_says_whether_and_when_it_runs_long() {
    let tool = || Tool::new("a", "").input_schema(json!({"type": "object"}));
    let at_once = |tool: Tool| tool.run(async |_: Value, _| Ok::<_, Failure>("done"));
    let by_itself = |tool: Tool| {
        tool.run(async |_: Value, context: Context| {
            context.become_task();
            context.become_task();
            Ok::<_, Failure>("done")
        })
    };
    let cases = [
        (at_once(tool()), TaskSupport::Forbidden, 0),
        (by_itself(tool()), TaskSupport::Forbidden, 1),
        (at_once(tool().task_optional()), TaskSupport::Optional, 0),
        (at_once(tool().long_running()), TaskSupport::Optional, 1),
        (by_itself(tool().long_running()), TaskSupport::Optional, 1),
        (at_once(tool().task_required()), TaskSupport::Required, 0),
        (at_once(tool().task_required().long_running()), TaskSupport::Required, 1),
        (at_once(tool().long_running().task_required()), TaskSupport::Required, 1),
    ];
    for (number, (tool, support, expected)) in cases.into_iter().enumerate() {
        let gateway_fixture = TestGateway::with(tool);
        let entry = gateway_fixture.gateway.catalog().with(|it| it.tool("a").cloned()).unwrap();
        let hint = entry.definition.at(&["_meta", "gantry/tasks-only"]);
        assert_eq!(hint.is_some(), support == TaskSupport::Required, "case {number}");
        assert_eq!(entry.task_support, support, "case {number}");
        let params = raw(r#"{"name":"a","arguments":{}}"#);
        let caller = Arc::new(Caller::new("someone"));
        let mut running =
            gateway_fixture.gateway.start(Call::new(Method::ToolsCall, params, caller));
        let mut said = 0;
        while let CallEvent::Notification(notification) = running.next_event().await {
            assert!(matches!(notification, CallNotification::Task { .. }), "{notification:?}");
            said += 1;
        }
        assert_eq!(said, expected, "case {number}");
    }
}

#[tokio::test]
async fn a_tool_may_want_to_be_called_back() {
    let after = Duration::from_millis(1500);
    let tool = || Tool::new("a", "").input_schema(json!({"type": "object"}));
    let done = async |_: Value, _| Ok::<_, Failure>("done");
    let cases = [
        (tool(), None),
        (tool().call_back(after), Some(json!({"gantry/call-back": 1500}))),
        (
            tool().call_back(after).member("_meta", json!({"own": 1})),
            Some(json!({"own": 1, "gantry/call-back": 1500})),
        ),
    ];
    for (tool, meta) in cases {
        let gateway_fixture = TestGateway::with(tool.run(done));
        let entry = gateway_fixture.gateway.catalog().with(|it| it.tool("a").cloned()).unwrap();
        assert_eq!(entry.definition.get("_meta").and_then(|it| it.read()), meta);
        let renamed = entry.renamed("b").unwrap();
        assert_eq!(renamed.call_back, meta.as_ref().map(|_| after));
        let params = raw(r#"{"name":"a","arguments":{}}"#);
        let caller = Arc::new(Caller::new("someone"));
        let mut running =
            gateway_fixture.gateway.start(Call::new(Method::ToolsCall, params, caller));
        let mut said = Vec::new();
        while let CallEvent::Notification(CallNotification::HangUp { retry }) =
            running.next_event().await
        {
            said.push(retry);
        }
        assert_eq!(said, Vec::from_iter(meta.map(|_| after)));
    }
}
