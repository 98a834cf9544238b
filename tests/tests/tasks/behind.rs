//! Tools that run long at a server behind the gateway, which both speak another revision than the
//! client or the same.

use std::time::Duration;

use gantry::client::{Endpoint, HttpKind, Target};
use gantry::{Eras, Override, UpstreamConfig, UpstreamSettings, Upstreams};
use gantry_tests::request::{call, list};
use gantry_tests::tasks::{self, begin, begun, settled, update};
use gantry_tests::temp_folder::{cache, command, finish};
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::{Value, json};

use crate::client::Client;

/// What the server speaks, and nothing else.
const SERVERS: [Eras; 2] = [Eras::Legacy, Eras::Modern];

/// How often tasks are looked after.
const POLL: Duration = Duration::from_millis(20);

/// A server, and the gateway in front of it, where its names begin with `up_`.
struct UpstreamTaskFixture {
    server: TestServer,
    gateway: TestServer,
}

impl UpstreamTaskFixture {
    async fn open(eras: Eras) -> Self {
        Self::with(eras, |_| ()).await
    }

    /// The same with another entry of the server.
    async fn with(eras: Eras, configure: impl FnOnce(&mut UpstreamConfig)) -> Self {
        let mut plan = TestOptions::eras(eras);
        plan.doors.task_poll = POLL;
        let server = TestServer::with(plan).await;
        tasks::add(&server);
        let upstreams = Upstreams::new(UpstreamSettings::default());
        let mut plan = TestOptions {
            bare: true,
            upstreams: Some(upstreams.clone()),
            ..TestOptions::default()
        };
        plan.doors.task_poll = POLL;
        let gateway = TestServer::with(plan).await;
        let address = format!("http://{}/mcp", server.address).parse().unwrap();
        let target = Target::Http(Endpoint::new(address), HttpKind::Auto);
        let mut upstream = UpstreamConfig::new("up", target);
        configure(&mut upstream);
        upstreams.configure(vec![upstream], Vec::new());
        soon("its lists", upstreams.settled()).await;
        Self { server, gateway }
    }
}

/// What the definition of a tool says of tasks.
fn support(listed: &Value, tool: &str) -> Option<Value> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|it| it["name"] == tool).unwrap();
    tool.pointer("/execution/taskSupport").cloned()
}

#[tokio::test]
async fn a_client_with_handshake_gets_a_task_from_either_server() {
    for eras in SERVERS {
        for transport in ["link", "http"] {
            let behind = UpstreamTaskFixture::open(eras).await;
            let mut client = Client::open(&behind.gateway, transport, "2025-11-25").await;
            let task = client.begin("up_long_wait").await;
            // Nobody but the server knows it, and it says so by a task of its own.
            client.until_long(&task).await;
            behind.server.latch.open();
            assert_eq!(client.fetch(&task, &[]).await, "done", "{eras:?}");
        }
    }
}

#[tokio::test]
async fn so_does_a_client_that_others_have_written() {
    for eras in SERVERS {
        let behind = UpstreamTaskFixture::open(eras).await;
        let mut python = command(cache().join("python-mcp-1/bin/python"));
        python.args(["-c", include_str!("real.py")]);
        python.arg(format!("http://{}/mcp", behind.gateway.address));
        let printed = finish(&mut python).await;
        assert_eq!(printed, "optional completed xxx\noptional failed it broke\n", "{eras:?}");
    }
}

#[tokio::test]
async fn what_such_a_task_asks_is_asked_on_the_stream_of_its_result() {
    let cases: [(&str, &[&str], &[&str]); 3] = [
        ("up_long_twice", &["Ann", "Bob"], &["Ann, Bob"]),
        ("up_long_ask", &["Ann", "Bob"], &["Ann and Bob", "Bob and Ann"]),
        ("up_long_only", &["Ann"], &["Ann"]),
    ];
    for eras in SERVERS {
        let behind = UpstreamTaskFixture::open(eras).await;
        let mut client = Client::open(&behind.gateway, "link", "2025-11-25").await;
        for (tool, names, expected) in cases {
            let task = client.begin(tool).await;
            let text = client.fetch(&task, names).await;
            assert!(expected.contains(&text.as_str()), "{eras:?}, {tool}: {text}");
        }
    }
}

#[tokio::test]
async fn who_takes_no_tasks_waits_for_one_of_an_older_server() {
    let behind = UpstreamTaskFixture::open(Eras::Legacy).await;
    let waiting =
        call("up_long_marked", json!({})).set("/params/_meta/progressToken", json!("mine"));
    let mut answer = waiting.send(behind.gateway.address).await;
    let progress = soon("progress", answer.message()).await.unwrap();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "mine", "{progress}");
    assert_eq!(progress["params"]["message"], "at the gate", "{progress}");
    behind.server.latch.open();
    let mut rest = soon("the result", answer.messages()).await;
    let result = rest.pop().unwrap();
    assert_eq!(result["result"]["content"][0]["text"], "done", "{result}");
    assert_eq!(result["result"]["resultType"], "complete", "{result}");
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::open(&behind.gateway, "link", revision).await;
        let params = json!({"name": "up_long_marked", "arguments": {}});
        let result = client.ask("tools/call", params).await;
        assert_eq!(result["result"]["content"][0]["text"], "done", "{revision}: {result}");
    }
}

#[tokio::test]
async fn who_takes_no_tasks_is_refused_where_the_server_wants_it() {
    for eras in SERVERS {
        let behind = UpstreamTaskFixture::open(eras).await;
        let refused = call("up_long_only", json!({})).ask(behind.gateway.address).await;
        assert_eq!(refused["error"]["code"], -32021, "{eras:?}: {refused}");
    }
}

#[tokio::test]
async fn one_revision_alone_hears_that_a_server_makes_tasks() {
    let cases = [(Eras::Modern, Some(json!("optional"))), (Eras::Legacy, None)];
    for (eras, expected) in cases {
        let behind = UpstreamTaskFixture::open(eras).await;
        let gateway = &behind.gateway;
        let newest = list().ask(gateway.address).await;
        assert_eq!(support(&newest, "up_fail"), None, "{eras:?}");
        for (revision, expected) in [("2025-11-25", expected), ("2025-06-18", None)] {
            let mut client = Client::open(gateway, "link", revision).await;
            let listed = client.ask("tools/list", json!({})).await;
            assert_eq!(support(&listed, "up_fail"), expected, "{eras:?} to {revision}");
        }
    }
}

#[tokio::test]
async fn a_tool_runs_long_because_the_configuration_says_so() {
    for eras in SERVERS {
        let behind = UpstreamTaskFixture::with(eras, |upstream| upstream.task = true).await;
        let gateway = &behind.gateway;
        let task = begun(gateway, "up_wait", json!({})).await;
        let mut client = Client::open(gateway, "link", "2025-11-25").await;
        let listed = client.ask("tools/list", json!({})).await;
        assert_eq!(support(&listed, "up_wait"), Some(json!("optional")), "{eras:?}");
        let older = client.begin("up_wait").await;
        client.until_long(&older).await;
        behind.server.latch.open();
        let ended = settled(gateway, &task, "completed").await;
        assert_eq!(ended["result"]["content"][0]["text"], "done", "{eras:?}: {ended}");
        assert_eq!(client.fetch(&older, &[]).await, "done", "{eras:?}");
        let plain = call("up_wait", json!({})).ask(gateway.address).await;
        assert_eq!(plain["result"]["content"][0]["text"], "done", "{eras:?}: {plain}");
    }
}

#[tokio::test]
async fn what_it_asks_then_its_task_asks() {
    for eras in SERVERS {
        let behind = UpstreamTaskFixture::with(eras, |upstream| {
            let long = Override { task: Some(true), ..Override::default() };
            upstream.overrides.insert("ask_name".to_owned(), long);
        })
        .await;
        let gateway = &behind.gateway;
        let task = begun(gateway, "up_ask_name", json!({})).await;
        let asking = settled(gateway, &task, "input_required").await;
        let key = asking["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let answer = json!({"action": "accept", "content": {"name": "Ann"}});
        update(task.clone(), json!({(key): answer})).ask(gateway.address).await;
        let ended = settled(gateway, &task, "completed").await;
        assert_eq!(ended["result"]["content"][0]["text"], "accept Ann", "{eras:?}: {ended}");
        let other = begin("up_echo", json!({"text": "x"})).ask(gateway.address).await;
        assert_eq!(other["result"]["resultType"], "complete", "{eras:?}: {other}");
    }
}
