//! Lists are sorted, merged, cut into pages, and hold together while they change.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{Method, RawJson};

use super::Publisher;
use crate::{
    Absence, Call, CallContext, CallError, CallEvent, Caller, ErrorKind, Event, Gateway, Interest,
    ListKind, Listing, Origin, Outcome, PromptEntry, Provider, Reply, Resolved, ServerInfo,
    Settings, Subscription, ToolEntry, ToolVersions,
};

struct Named(&'static str);

impl Provider for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        let result = RawJson::of(self.0).unwrap();
        Box::pin(async move { Ok(Reply::result(result)) })
    }
}

/// One that lists nothing, and knows why its tools are not there.
struct Away;

impl Provider for Away {
    fn name(&self) -> &str {
        "away"
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Ok(Reply::result(RawJson::EMPTY_OBJECT)) })
    }

    fn absence(&self, tool: &str) -> Option<Absence> {
        let error = CallError::new(ErrorKind::Unavailable, format!("`{tool}` is away"));
        let origin = Arc::new(Origin { server: "away".into(), identity: "x".into() });
        tool.starts_with("away_").then_some(Absence { origin, error })
    }
}

#[tokio::test]
async fn who_knows_why_a_tool_is_not_there_says_so() {
    let gateway = gateway(10);
    gateway.attach(Arc::new(Away));
    gateway.attach(Arc::new(Named("here"))).publish(tools(&["away_known", "here"]));
    let cases = [
        (r#"{"name":"away_one"}"#, "`away_one` is away"),
        (r#"{"name":"other"}"#, "there is no tool `other`; tools/list shows those there are"),
        (r#"{"name":"away_known"}"#, "here"),
    ];
    for (params, expected) in cases {
        let told = match call(&gateway, Method::ToolsCall, params).await {
            Ok(Reply::Result(result)) => result.to_string(),
            Ok(reply) => panic!("{params}: {reply:?}"),
            Err(error) => error.public,
        };
        assert!(told.contains(expected), "{params}: {told}");
    }
}

fn gateway(page_size: usize) -> Arc<Gateway> {
    let settings = Settings { page_size, ..Settings::default() };
    Gateway::builder(ServerInfo::new("catalog", "1")).settings(settings).build()
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

fn tool(name: &str, description: &str) -> Arc<ToolEntry> {
    let definition = format!(
        r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object"}}}}"#
    );
    Arc::new(ToolEntry::new(raw(&definition)).unwrap())
}

fn tools(names: &[&str]) -> Listing {
    let tools = names.iter().map(|name| tool(name, "")).collect();
    Listing { tools, ..Listing::default() }
}

async fn call(gateway: &Arc<Gateway>, method: Method, params: &str) -> Outcome {
    let caller = Arc::new(Caller::new("someone"));
    match gateway.start(Call::new(method, raw(params), caller)).next_event().await {
        CallEvent::Done(outcome) => outcome,
        step => panic!("{step:?}"),
    }
}

/// The names on a page of the tools, and the cursor of the next.
async fn page(gateway: &Arc<Gateway>, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let params = cursor.map_or("{}".to_owned(), |cursor| format!(r#"{{"cursor":"{cursor}"}}"#));
    let Ok(Reply::Page(page)) = call(gateway, Method::ToolsList, &params).await else {
        panic!("a page for {params}")
    };
    let items = page.result().get("tools").unwrap();
    let names = items.elements().map(|item| item.get("name").unwrap().to_text().unwrap());
    (names.collect(), page.result().get("nextCursor").map(|it| it.to_text().unwrap()))
}

/// Every name, page by page, with `between` done after each page.
async fn walk(gateway: &Arc<Gateway>, mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut names, mut cursor) = page(gateway, None).await;
    for number in 1.. {
        between(number);
        let Some(next) = cursor else { break };
        let more;
        (more, cursor) = page(gateway, Some(&next)).await;
        names.extend(more);
    }
    names
}

#[tokio::test]
async fn pages_are_in_order_and_whole() {
    let names = ["d", "a", "g", "b", "f", "c", "e"];
    for size in 1..=8 {
        let gateway = gateway(size);
        gateway.attach(Arc::new(Named("one"))).publish(tools(&names));
        let walked = walk(&gateway, |_| {}).await;
        assert_eq!(walked.concat(), "abcdefg", "pages of {size}");
        assert!(page(&gateway, None).await.0.len() <= size);
    }
}

#[tokio::test]
async fn pages_are_bounded_in_bytes() {
    // Each definition has 63 bytes and its comma.
    let item = tool("a", "").definition.bytes().len() + 1;
    for (bytes, on_first) in [(1, 1), (item, 1), (2 * item - 1, 1), (2 * item, 2), (5 * item, 3)] {
        let settings = Settings { page_size: 3, page_bytes: bytes, ..Settings::default() };
        let gateway = Gateway::builder(ServerInfo::new("catalog", "1")).settings(settings).build();
        gateway.attach(Arc::new(Named("one"))).publish(tools(&["d", "a", "g", "b", "f", "c", "e"]));
        assert_eq!(page(&gateway, None).await.0.len(), on_first, "{bytes} bytes");
        assert_eq!(walk(&gateway, |_| {}).await.concat(), "abcdefg", "{bytes} bytes");
    }
}

#[tokio::test]
async fn the_order_does_not_depend_on_who_published_first() {
    let (first, second) = (["c", "a"], ["b", "d"]);
    for swapped in [false, true] {
        let gateway = gateway(100);
        let one = gateway.attach(Arc::new(Named("one")));
        let two = gateway.attach(Arc::new(Named("two")));
        if swapped {
            two.publish(tools(&second));
            one.publish(tools(&first));
        } else {
            one.publish(tools(&first));
            two.publish(tools(&second));
        }
        assert_eq!(page(&gateway, None).await.0, ["a", "b", "c", "d"]);
    }
}

#[tokio::test]
async fn changes_between_pages_neither_repeat_nor_lose_what_stayed() {
    type DefinitionChange = fn(usize) -> Vec<&'static str>;
    let changes: [(&str, DefinitionChange); 4] = [
        ("one before is removed", |_| vec!["b", "c", "d", "e", "f"]),
        ("one before is added", |_| vec!["a", "aa", "b", "c", "d", "e", "f"]),
        ("the one at the cut is removed", |_| vec!["a", "c", "d", "e", "f"]),
        ("all but the last are removed", |_| vec!["f"]),
    ];
    for (what, change) in changes {
        let gateway = gateway(2);
        let publisher = gateway.attach(Arc::new(Named("one")));
        publisher.publish(tools(&["a", "b", "c", "d", "e", "f"]));
        let names = walk(&gateway, |number| {
            if number == 1 {
                publisher.publish(tools(&change(number)));
            }
        })
        .await;
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{what}: {names:?} repeats");
        for stayed in change(0).into_iter().filter(|name| *name > "b") {
            assert!(names.iter().any(|name| name == stayed), "{what}: {names:?} lacks {stayed}");
        }
    }
}

#[tokio::test]
async fn an_emptied_list_ends_the_walk() {
    let gateway = gateway(1);
    let publisher = gateway.attach(Arc::new(Named("one")));
    publisher.publish(tools(&["a", "b"]));
    let (_, cursor) = page(&gateway, None).await;
    publisher.publish(tools(&[]));
    assert_eq!(page(&gateway, cursor.as_deref()).await, (vec![], None));
    assert_eq!(page(&gateway, None).await, (vec![], None));
}

#[tokio::test]
async fn cursors_of_others_are_refused() {
    let gateway = gateway(1);
    let publisher = gateway.attach(Arc::new(Named("one")));
    let prompt =
        |name: &str| Arc::new(PromptEntry::new(raw(&format!(r#"{{"name":"{name}"}}"#))).unwrap());
    let prompts = vec![prompt("a"), prompt("b")];
    publisher.publish(Listing { prompts, ..tools(&["a", "b"]) });
    let (_, cursor) = page(&gateway, None).await;
    let of_tools = format!("{:?}", cursor.unwrap());
    let cases = [
        (Method::PromptsList, of_tools.as_str()),
        (Method::ResourcesList, &of_tools),
        (Method::ToolsList, r#""not base64!""#),
        (Method::ToolsList, r#""bm90IG91cnM""#),
        (Method::ToolsList, r#""_w""#),
        (Method::ToolsList, "7"),
        (Method::ToolsList, "{}"),
    ];
    for (method, cursor) in cases {
        let outcome = call(&gateway, method.clone(), &format!(r#"{{"cursor":{cursor}}}"#)).await;
        let Err(error) = outcome else { panic!("{method} with {cursor}: {outcome:?}") };
        assert_eq!(error.kind, ErrorKind::InvalidParams, "{method} with {cursor}");
    }
    assert_eq!(page(&gateway, Some("")).await.0, ["a"], "an empty cursor is none");
}

#[tokio::test]
async fn of_two_with_one_name_the_earlier_providers_keeps_it() {
    let gateway = gateway(100);
    let one = gateway.attach(Arc::new(Named("one")));
    let two = gateway.attach(Arc::new(Named("two")));
    two.publish(tools(&["same", "other"]));
    one.publish(tools(&["same"]));
    assert_eq!(page(&gateway, None).await.0, ["other", "same", "same_de3572d8"]);
    let served = async || {
        let Ok(Reply::Result(result)) =
            call(&gateway, Method::ToolsCall, r#"{"name":"same"}"#).await
        else {
            panic!("a result")
        };
        result.to_text().unwrap()
    };
    assert_eq!(served().await, "one");
    one.publish(tools(&[]));
    assert_eq!(served().await, "two", "it has its own name again");
}

async fn told(subscription: &mut Subscription) -> bool {
    let next = tokio::time::timeout(Duration::from_secs(1), subscription.next()).await;
    match next {
        Ok(Some(Event::ListChanged(kind))) => kind == ListKind::Tools,
        Ok(event) => panic!("{event:?}"),
        Err(_) => false,
    }
}

#[tokio::test(start_paused = true)]
async fn only_real_changes_are_told() {
    let gateway = gateway(100);
    let everything =
        Interest { tools: true, prompts: true, resources: true, ..Interest::default() };
    let one = gateway.attach(Arc::new(Named("one")));
    let two = gateway.attach(Arc::new(Named("two")));
    let mut subscription = gateway.subscribe(everything, &Arc::new(Caller::new("someone")));
    let described = |text: &str| Listing { tools: vec![tool("a", text)], ..Listing::default() };
    let steps: [(&Publisher, Listing, bool); 8] = [
        (&one, tools(&["a", "b"]), true),
        (&one, tools(&["a", "b"]), false),
        (&one, tools(&["b", "a"]), false),
        (&two, tools(&["a"]), true),
        (&two, described("under another name"), true),
        (&one, tools(&["b"]), true),
        (&two, described("now it shows"), true),
        (&two, described("now it shows"), false),
    ];
    for (number, (publisher, listing, expected)) in steps.into_iter().enumerate() {
        publisher.publish(listing);
        assert_eq!(told(&mut subscription).await, expected, "step {number}");
    }
}

#[tokio::test]
async fn names_given_twice_or_not_as_text_are_refused() {
    let gateway = gateway(100);
    gateway.attach(Arc::new(Named("one"))).publish(tools(&["a", "b"]));
    let cases = [
        (Method::ToolsCall, r#"{"name":"a","name":"b"}"#),
        (Method::ToolsCall, r#"{"name":"a","\u006eame":"b"}"#),
        (Method::ToolsCall, r#"{"name":"a","arguments":{},"arguments":{}}"#),
        (Method::ToolsCall, r#"{"name":"a","arguments":[]}"#),
        (Method::ToolsCall, r#"{"name":"a","arguments":"{}"}"#),
        (Method::ToolsCall, r#"{"name":7}"#),
        (Method::ToolsCall, "{}"),
        (Method::PromptsGet, r#"{"name":"a","name":"a"}"#),
        (Method::Complete, "{}"),
        (Method::Complete, r#"{"ref":{"type":"ref/tool","name":"a"}}"#),
        (Method::Complete, r#"{"ref":"ref/prompt"}"#),
        (Method::ResourcesRead, r#"{"uri":"test://a","uri":"test://b"}"#),
        (Method::ResourcesRead, r#"{"uri":null}"#),
    ];
    for (method, params) in cases {
        let outcome = call(&gateway, method, params).await;
        let Err(error) = outcome else { panic!("{params}: {outcome:?}") };
        assert_eq!(error.kind, ErrorKind::InvalidParams, "{params}");
    }
    let stranger = call(&gateway, Method::ToolsCall, r#"{"name":"A"}"#).await;
    assert_eq!(stranger.expect_err("no tool").kind, ErrorKind::ToolNotFound);
}

#[tokio::test]
async fn a_provider_that_is_withdrawn_leaves_no_trace() {
    let gateway = gateway(100);
    let one = gateway.attach(Arc::new(Named("one")));
    let two = gateway.attach(Arc::new(Named("two")));
    one.publish(tools(&["a", "shared"]));
    two.publish(tools(&["b", "shared"]));
    one.withdraw();
    assert_eq!(page(&gateway, None).await.0, ["b", "shared"]);
    one.publish(tools(&["a"]));
    one.withdraw();
    assert_eq!(page(&gateway, None).await.0, ["b", "shared"], "what comes later is not taken");
    let three = gateway.attach(Arc::new(Named("three")));
    three.publish(tools(&["c"]));
    assert_eq!(page(&gateway, None).await.0, ["b", "c", "shared"]);
}

/// A reference is judged by its first members, and a server may follow the last.
#[tokio::test]
async fn a_reference_that_can_be_read_in_two_ways_is_refused() {
    let gateway = gateway(10);
    let prompt =
        |name: &str| Arc::new(PromptEntry::new(raw(&format!(r#"{{"name":"{name}"}}"#))).unwrap());
    let prompts = vec![prompt("one"), prompt("two")];
    gateway.attach(Arc::new(Named("here"))).publish(Listing { prompts, ..Listing::default() });
    let cases = [
        (r#"{"ref":{"type":"ref/prompt","name":"one"}}"#, None),
        (r#"{"ref":{"type":"ref/prompt","name":"one","name":"two"}}"#, Some("`name` appears")),
        (r#"{"ref":{"type":"ref/prompt","name":"one","Name":"two"}}"#, Some("like `name` but")),
        (
            r#"{"ref":{"type":"ref/prompt","name":"one","type":"ref/resource","uri":"x:"}}"#,
            Some("`type` appears"),
        ),
        (r#"{"ref":{"type":"ref/prompt","name":"one","TYPE":"x"}}"#, Some("like `type` but")),
        (r#"{"ref":{"type":"ref/prompt","name":"one"},"ref":{}}"#, Some("`ref` appears")),
        (r#"{"ref":{"type":"ref/prompt","name":"one"},"REF":{}}"#, Some("like `ref` but")),
    ];
    for (params, expected) in cases {
        let told = call(&gateway, Method::Complete, params).await.map_err(|it| it.public);
        match expected {
            None => assert!(told.is_ok(), "{params}: {told:?}"),
            Some(part) => assert!(told.is_err_and(|it| it.contains(part)), "{params}"),
        }
    }
}

/// What clients see, and what a name means: the listed name of the tool.
async fn shown(gateway: &Arc<Gateway>) -> Vec<String> {
    page(gateway, None).await.0
}

#[tokio::test]
async fn names_for_clients_are_distinct_and_every_name_works() {
    let gateway = gateway(100);
    let (first, second) =
        (gateway.attach(Arc::new(Named("first"))), gateway.attach(Arc::new(Named("second"))));
    // The second provider cannot take a name from the first one, whatever it calls its tools.
    second.publish(tools(&["text_count", "text.count", "a_b"]));
    first.publish(tools(&["text.count", "a.b_c", "a_b.c", "plain"]));
    let seen = shown(&gateway).await;
    let plain: Vec<_> = seen.iter().filter(|it| !it.contains("_c_") && it.len() < 15).collect();
    assert_eq!(plain, ["a_b", "a_b_c", "plain", "text_count"], "{seen:?}");
    assert_eq!(seen.len(), 7);
    let meaning = |name: &str| {
        let snapshot = gateway.catalog().snapshot();
        snapshot.tool(name).map(|tool| tool.name.clone())
    };
    let cases = [
        ("text_count", Some("text.count")),
        ("text.count", Some("text.count")),
        ("a_b_c", Some("a.b_c")),
        ("a.b_c", Some("a.b_c")),
        ("a_b.c", Some("a_b.c")),
        ("a_b", Some("a_b")),
        ("a.b", None),
    ];
    for (name, expected) in cases {
        assert_eq!(meaning(name).as_deref(), expected, "{name} of {seen:?}");
    }
    for name in seen.iter().filter(|it| !plain.contains(it)) {
        let tool = gateway.catalog().snapshot().tool(name).cloned().expect("it is listed");
        let names = crate::Target::Tool(tool);
        let names = names.names();
        assert_eq!(names.shown(), name);
        assert!(names.is_restricted_by(name));
    }
    let answer = call(&gateway, Method::ToolsCall, r#"{"name":"text_count"}"#).await;
    let Ok(Reply::Result(result)) = answer else { panic!("{answer:?}") };
    assert_eq!(result.as_str(), "\"first\"");
}

#[tokio::test]
async fn one_tool_after_the_other_gives_what_all_at_once_give() {
    let names = ["b", "a.b_c", "t", "a_b.c", "a_b_c", "x.y", "b", "x_y"];
    let steps = gateway(100);
    let (other, publisher) =
        (steps.attach(Arc::new(Named("other"))), steps.attach(Arc::new(Named("one"))));
    other.publish(tools(&["x_y"]));
    let versions = |name: &str, listed: bool| ToolVersions {
        name: name.to_owned(),
        listed: listed.then(|| tool(name, "")),
        older: Vec::new(),
    };
    for (number, _) in names.iter().enumerate() {
        publisher.replace(&versions(names[number], true));
        let whole = gateway(100);
        whole.attach(Arc::new(Named("other"))).publish(tools(&["x_y"]));
        let mut all = names[..=number].to_vec();
        all.sort_unstable();
        all.dedup();
        whole.attach(Arc::new(Named("one"))).publish(tools(&all));
        assert_eq!(shown(&steps).await, shown(&whole).await, "after {all:?}");
    }
    for name in names {
        publisher.replace(&versions(name, false));
    }
    assert_eq!(shown(&steps).await, ["x_y"]);
}
