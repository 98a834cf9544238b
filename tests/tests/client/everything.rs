//! Our own server with one of everything, on both eras and every revision, over stdio and HTTP.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gantry_client::{ChangedList, Client, Endpoint, Era, Event, HttpKind, List, Settings, Target};
use gantry_protocol::Revision;
use gantry_tests::temp_folder;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::{CallSlot, User, capabilities, program, raw, settings, text, value};

/// The resource that is watched.
const WATCHED: &str = "test://watched-resource";

/// Who waits this long has failed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The example, which stands beside the gateway.
fn example() -> PathBuf {
    let path = temp_folder::program().with_file_name("examples").join("everything");
    assert!(path.exists(), "{} is missing; run `cargo build --examples` first", path.display());
    path
}

/// The example over HTTP. Dropping it ends it.
struct Listening {
    url: String,
    _child: Child,
}

impl Listening {
    async fn open(era: &str) -> Self {
        let mut command = temp_folder::command(example());
        command.args(["--era", era]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let (out, err) =
            (child.stdout.take().expect("output"), child.stderr.take().expect("errors"));
        let (mut out, mut err) = (BufReader::new(out).lines(), BufReader::new(err).lines());
        let url = loop {
            let line = tokio::select! {
                Ok(Some(line)) = out.next_line() => line,
                Ok(Some(line)) = err.next_line() => line,
            };
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.trim().to_owned();
            }
        };
        Self { url, _child: child }
    }

    /// One of its doors.
    fn transport(&self, path: &str) -> Endpoint {
        let url = self.url.replace("/mcp", path);
        Endpoint::new(url.parse().expect("an address"))
    }
}

/// How the server is started, what is offered to it, and the revision that comes of it.
fn layouts() -> Vec<(&'static str, Settings, Revision)> {
    let auto = || settings();
    let legacy = |offer| Settings { era: Era::Legacy, offer, ..settings() };
    let mut layouts = vec![
        ("both", auto(), Revision::LATEST),
        ("modern", auto(), Revision::LATEST),
        ("legacy", auto(), Revision::LATEST_WITH_HANDSHAKE),
    ];
    for offer in Revision::ALL.into_iter().filter(|revision| !revision.is_stateless()) {
        layouts.push(("both", legacy(offer), offer));
    }
    layouts
}

/// Does one of everything.
async fn check(mut slot: CallSlot, revision: Revision, case: &str) {
    let peer = slot.connection.peer().clone();
    assert_eq!(peer.revision, revision, "{case}");
    assert!(peer.instructions.is_some() && peer.has(&["tools"]), "{case}: {peer:?}");
    let tools = slot.connection.list(List::Tools).await.expect(case);
    assert!(tools.items.len() > 20 && tools.truncated.is_none(), "{case}: {}", tools.items.len());
    for list in [List::Prompts, List::Resources, List::Templates] {
        assert!(!slot.connection.list(list).await.expect(case).items.is_empty(), "{case} {list:?}");
    }
    let user = User::default();
    let sum = slot.call("add", json!({"a": 2, "b": 3}), &user).await.expect(case);
    // A server with handshake does not say so.
    let said = revision.is_stateless().then_some("complete");
    assert_eq!(sum["resultType"].as_str(), said, "{case}");
    let calls = [
        ("test_simple_text", json!({}), "", &[][..]),
        ("test_tool_with_progress", json!({}), "", &["progress 0", "progress 50", "progress 100"]),
        (
            "test_sampling",
            json!({"prompt": "p"}),
            "LLM response: hello",
            &["asked sampling/createMessage"],
        ),
        ("test_roots", json!({}), "file:///here", &["asked roots/list"]),
    ];
    for (tool, arguments, said, heard) in calls {
        let result = slot.call(tool, arguments, &user).await.expect(tool);
        assert!(text(&result).contains(said), "{case} {tool}: {result}");
        let found = user.heard();
        let missing = heard.iter().find(|it| !found.iter().any(|found| found.starts_with(**it)));
        assert_eq!(missing, None, "{case} {tool}: {found:?} {result}");
    }
    if revision.has_elicitation() {
        let result =
            slot.call("test_elicitation", json!({"message": "m"}), &user).await.expect(case);
        assert!(text(&result).contains("accept"), "{case}: {result}");
        assert_eq!(user.heard(), ["asked elicitation/create"], "{case}");
        let named = "test_input_required_result_elicitation";
        let result = slot.call(named, json!({}), &user).await.expect(case);
        assert_eq!(text(&result), "Hello, n!", "{case}");
        let hinted = user.heard().contains(&"named user_name".to_owned());
        assert_eq!(hinted, !revision.is_stateless(), "{case}: where only a hint can tell it");
    }
    let log = slot.call("test_tool_with_logging", json!({}), &user).await.expect(case);
    assert!(user.heard().iter().any(|heard| heard.starts_with("log ")), "{case}: {log}");
    changes(&mut slot, case).await;
    assert_eq!(slot.connection.in_flight(), 0, "{case}");
    slot.close().await;
}

/// Changes of lists and of a watched resource.
async fn changes(slot: &mut CallSlot, case: &str) {
    let user = User::default();
    let watched = BTreeSet::from([WATCHED.to_owned()]);
    slot.connection.watch(&watched).await.expect(case);
    type Expected = fn(&Event) -> bool;
    let expected: [(&str, Expected); 2] = [
        ("test_trigger_tool_change", |it| matches!(it, Event::ListChanged(ChangedList::Tools))),
        (
            "test_trigger_resource_update",
            |it| matches!(it, Event::ResourceUpdated { uri, .. } if uri == WATCHED),
        ),
    ];
    for (tool, is_expected) in expected {
        slot.call(tool, json!({}), &user).await.expect(case);
        let told = async { while !is_expected(&slot.events.recv().await.expect(case)) {} };
        tokio::time::timeout(TIMEOUT, told).await.unwrap_or_else(|_| panic!("{case}: {tool}"));
    }
}

#[tokio::test]
async fn over_stdio() {
    for (era, settings, revision) in layouts() {
        let case = format!("{era} as {revision} over stdio");
        let target = program(example(), &["--stdio", "--era", era]);
        check(CallSlot::take(&target, settings).await, revision, &case).await;
    }
}

/// Every layout over one kind of connection, but for those that it cannot have.
async fn over(name: &str, target: fn(&Listening) -> Target, has: fn(Revision) -> bool) {
    for (era, settings, revision) in layouts().into_iter().filter(|(_, _, it)| has(*it)) {
        let case = format!("{era} as {revision} over {name}");
        let server = Listening::open(era).await;
        check(CallSlot::take(&target(&server), settings).await, revision, &case).await;
    }
}

#[tokio::test]
async fn over_http() {
    over("HTTP", |server| Target::Http(server.transport("/mcp"), HttpKind::Auto), |_| true).await;
}

#[tokio::test]
async fn over_events() {
    let older = |revision: Revision| !revision.is_stateless();
    over("HTTP+SSE", |server| Target::Http(server.transport("/sse"), HttpKind::Events), older)
        .await;
    over("whatever it is", |server| Target::Http(server.transport("/sse"), HttpKind::Auto), older)
        .await;
}

#[tokio::test]
async fn over_websocket() {
    let target = |server: &Listening| {
        let Endpoint { url, headers, .. } = server.transport("/ws");
        let url = url.to_string().replace("http://", "ws://").parse().expect("an address");
        Target::WebSocket(Endpoint { headers, ..Endpoint::new(url) })
    };
    over("WebSocket", target, |_| true).await;
}

#[tokio::test]
async fn each_tool_has_a_handle() {
    for era in ["legacy", "modern"] {
        let (events, _heard) = mpsc::channel(8);
        let target = program(example(), &["--stdio", "--era", era]);
        let client = Client::new(target, settings(), events);
        let tools = client.tools().await.expect("the tools are listed");
        let tool = |name| tools.iter().find(|tool| tool.name() == name).expect(name);
        assert_eq!(tool("add").description().as_deref(), Some("Adds two numbers."));
        let sum = tool("add").call(raw(&json!({"a": 1, "b": 2}))).await.expect("a result");
        assert_eq!(value(&sum)["isError"], json!(null), "{era}: {sum}");
        let (user, message) = (User::default(), raw(&json!({"message": "who?"})));
        let asked = tool("test_elicitation").call_on(message, capabilities(), &user).await;
        let asked = value(&asked.expect("an answer"));
        assert!(asked["content"][0]["text"].to_string().contains("accept"), "{era}: {asked}");
        client.stop().await;
    }
}
