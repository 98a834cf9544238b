//! Clients that come while servers are still being started.

use std::fs;
use std::path::PathBuf;

use futures_util::future::join_all;
use gantry_tests::request::{NEWEST, Request, initialize, list, message, meta, request};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{UpstreamFixture, scripted};
use serde_json::{Value, json};

/// A file that servers wait for before they serve.
struct Signal(PathBuf);

impl Signal {
    fn new(name: &str) -> Self {
        let file = format!("gantry-startup-{name}-{}", std::process::id());
        let signal = Self(std::env::temp_dir().join(file));
        signal.take_back();
        signal
    }

    /// A server that waits for it.
    fn entry(&self, conduct: &str) -> Value {
        scripted(&[conduct, "--after", self.0.to_str().expect("text")], json!({}))
    }

    fn give(&self) {
        fs::write(&self.0, "").expect("a file");
    }

    fn take_back(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        self.take_back();
    }
}

/// What is asked of a gateway whose server `slow` has not started, where to look in the answer, and
/// what must be there.
fn first() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    let call = |name: &str| json!({"name": name, "arguments": {}});
    let reference = json!({"type": "ref/prompt", "name": "slow_nothing"});
    let complete = json!({"ref": reference, "argument": {"name": "a", "value": ""}});
    vec![
        ("tools/list", json!({}), "/result/tools", "slow_odd"),
        ("resources/list", json!({}), "/result/resources", "uri"),
        ("resources/templates/list", json!({}), "/result/resourceTemplates", "uriTemplate"),
        ("prompts/list", json!({}), "/result/prompts", "slow_"),
        ("tools/call", call("slow_odd"), "/result/content", "text"),
        ("tools/call", call("slow_nothing"), "/error/message", "no tool `slow_nothing`"),
        ("tools/call", call("elsewhere"), "/error/message", "no tool `elsewhere`"),
        ("prompts/get", json!({"name": "slow_nothing"}), "/error/message", "no prompt"),
        ("resources/read", json!({"uri": "x:nowhere"}), "/error/message", "no resource"),
        ("completion/complete", complete, "/error/message", "no prompt"),
    ]
}

fn numbered(id: usize, method: &str, params: &Value, revision: &str) -> Value {
    let mut params = params.clone();
    if revision == NEWEST {
        params["_meta"] = meta();
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Sends all first requests on standard input, and something that is answered at once after them.
async fn ask_all(fixture: &mut UpstreamFixture, revision: &str) {
    if revision != NEWEST {
        fixture.line(&initialize(revision).body()).await;
        fixture.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }
    for (id, (method, params, ..)) in first().iter().enumerate() {
        fixture.tell(&numbered(id, method, params, revision).to_string()).await;
    }
    let at_once = if revision == NEWEST { "server/discover" } else { "ping" };
    fixture.tell(&numbered(1000, at_once, &json!({}), revision).to_string()).await;
    let heard = fixture.hear().await;
    assert_eq!(heard["id"], 1000, "nothing else is answered before the server has started");
}

/// The answers on standard output to what was asked, by number.
async fn answers(fixture: &mut UpstreamFixture) -> Vec<Value> {
    let mut answers = vec![Value::Null; first().len()];
    while answers.iter().any(Value::is_null) {
        let heard = fixture.hear().await;
        if let Some(id) = heard["id"].as_u64() {
            answers[id as usize] = heard;
        }
    }
    answers
}

/// All first requests over HTTP.
async fn posts(fixture: &UpstreamFixture, revision: &str) -> Vec<Request> {
    if revision == NEWEST {
        return first().into_iter().map(|(method, params, ..)| request(method, params)).collect();
    }
    let opened = initialize(revision).send(fixture.address).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let post = |(id, (method, params, ..)): (usize, (&str, Value, _, _))| {
        message(numbered(id, method, &params, revision)).of(&session)
    };
    first().into_iter().enumerate().map(post).collect()
}

#[tokio::test]
async fn what_is_asked_first_waits_for_a_server_that_is_starting() {
    for revision in ["2024-11-05", "2025-11-25", NEWEST] {
        let signal = Signal::new(revision);
        let servers = json!({"slow": signal.entry("bytes")});
        let settings = json!({"startupWait": "60s"});
        let mut fixture =
            UpstreamFixture::open_with(&format!("first-{revision}"), settings, servers).await;
        ask_all(&mut fixture, revision).await;
        let (posts, address) = (posts(&fixture, revision).await, fixture.address);
        let posted = join_all(posts.iter().map(|post| post.ask(address)));
        let (posted, ()) = tokio::join!(posted, async { signal.give() });
        for (transport, answers) in [("stdio", answers(&mut fixture).await), ("HTTP", posted)] {
            for ((method, params, pointer, expected), answer) in first().iter().zip(answers) {
                let seen = answer.pointer(pointer).map(Value::to_string).unwrap_or_default();
                let case = format!("{method} {params} in {revision} over {transport}");
                assert!(seen.contains(expected), "{case}: {answer}");
            }
        }
        fixture.close().await;
    }
}

/// Each client's first lists wait, also when servers have been waited for by others.
#[tokio::test]
async fn a_client_that_connects_late_waits_too() {
    let signal = Signal::new("late");
    let servers = json!({"slow": signal.entry("bytes")});
    let settings = json!({"startupWait": "6s"});
    let mut fixture = UpstreamFixture::open_with("late", settings, servers).await;
    let early = list().ask(fixture.address).await.to_string();
    assert!(!early.contains("slow_odd"), "{early}");
    let revision = "2025-11-25";
    fixture.line(&initialize(revision).body()).await;
    let ask = numbered(1, "tools/list", &json!({}), revision);
    fixture.tell(&ask.to_string()).await;
    let opened = initialize(revision).send(fixture.address).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let (post, address) = (message(ask).of(&session), fixture.address);
    let (posted, ()) = tokio::join!(post.ask(address), async { signal.give() });
    assert!(posted.to_string().contains("slow_odd"), "HTTP: {posted}");
    let mut heard = fixture.hear().await;
    while heard["id"] != 1 {
        heard = fixture.hear().await;
    }
    assert!(heard.to_string().contains("slow_odd"), "stdio: {heard}");
    fixture.close().await;
}

#[tokio::test]
async fn what_comes_after_the_wait_is_told() {
    let signal = Signal::new("later");
    let servers = json!({"slow": signal.entry("well")});
    let mut fixture = UpstreamFixture::open_with("later", json!({"startupWait": 0}), servers).await;
    fixture.line(&initialize("2025-11-25").body()).await;
    fixture.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let ask = numbered(1, "tools/list", &json!({}), "2025-11-25").to_string();
    let empty: Value = serde_json::from_str(&fixture.line(&ask).await).expect("JSON");
    assert_eq!(empty["result"]["tools"], json!([]), "nobody waits");
    let mut modern = list().ask(fixture.address).await;
    assert_eq!(modern["result"]["ttlMs"].take(), 1000, "it is not kept for long");
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = request("subscriptions/listen", wanted).send(fixture.address).await;
    listening.message().await.expect("it is acknowledged");
    signal.give();
    assert_eq!(fixture.hear().await["method"], "notifications/tools/list_changed");
    let told = listening.message().await.expect("it is told");
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let full: Value = serde_json::from_str(&fixture.line(&ask).await).expect("JSON");
    assert_eq!(full["result"]["tools"].as_array().map(Vec::len), Some(4), "{full}");
    fixture.until_listed("slow").await;
    let kept = list().ask(fixture.address).await;
    assert_eq!(kept["result"]["ttlMs"], 60_000, "all is known");
    drop(listening);
    fixture.close().await;
}

/// The members of the capabilities that not every gateway has.
fn declared(greeting: &Value) -> Vec<String> {
    let capabilities = greeting["result"]["capabilities"].as_object().expect("an object");
    let optional = ["resources", "prompts", "completions"];
    optional.into_iter().filter(|it| capabilities.contains_key(*it)).map(str::to_owned).collect()
}

/// What both eras are told of a gateway, which is the same.
async fn greeted(fixture: &UpstreamFixture) -> Vec<String> {
    let modern = declared(&request("server/discover", json!({})).ask(fixture.address).await);
    assert_eq!(declared(&initialize("2025-11-25").ask(fixture.address).await), modern);
    modern
}

#[tokio::test]
async fn capabilities_say_what_is_there() {
    let cases: [(&str, &[&str]); 3] = [
        ("well", &[]),
        ("contract", &["resources", "completions"]),
        ("bytes", &["resources", "prompts", "completions"]),
    ];
    for (conduct, expected) in cases {
        let signal = Signal::new(&format!("capabilities-{conduct}"));
        let servers = json!({"slow": signal.entry(conduct)});
        let fixture =
            UpstreamFixture::open(&format!("capabilities-{conduct}"), servers.clone()).await;
        let unknown = greeted(&fixture).await;
        assert_eq!(unknown, ["resources", "prompts", "completions"], "{conduct}: nothing is known");
        signal.give();
        fixture.until_listed("slow").await;
        let listed = async { while greeted(&fixture).await != expected {} };
        soon(conduct, listed).await;
        let folder = fixture.bench.folder.join("gantry/servers");
        let is_kept = || fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some());
        let kept = async {
            while !is_kept() {
                tokio::task::yield_now().await;
            }
        };
        soon("what it lists on the disk", kept).await;
        signal.take_back();
        let fixture = fixture.reopen(servers).await;
        assert_eq!(greeted(&fixture).await, expected, "{conduct}: it is remembered");
        assert_eq!(fixture.status("slow").await["state"], "starting");
        signal.give();
        fixture.close().await;
    }
}
