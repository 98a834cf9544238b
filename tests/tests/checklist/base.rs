//! Checks 1 to 25: what every message must be like, and discovery.

use gantry::Eras;
use gantry_tests::checks::{Check, story, wire};
use gantry_tests::request::{NEWEST, Request, call, initialize, list, meta, request, text};
use gantry_tests::test_server::{TestOptions, TestServer};
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

const INFO: &str = "/result/_meta/io.modelcontextprotocol~1serverInfo";

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        wire(1, "a request without `_meta` is refused", [
            list().set("/params/_meta", Value::Null).fails(400, -32602),
            list().set("/params", Value::Null).fails(400, -32602),
        ]),
        wire(2, "`_meta` must name the revision", [list().meta("protocolVersion", Value::Null).fails(400, -32602)]),
        wire(3, "`_meta` must have the client's capabilities", [list().meta("clientCapabilities", Value::Null).fails(400, -32602)]),
        wire(4, "a client need not say who it is", [list().meta("clientInfo", Value::Null).gives(200).has("/result/tools")]),
        wire(5, "every result has a type", each_method(|it| it.gives(200).at("/result/resultType", json!("complete")))),
        wire(6, "every result says who made it", each_result(|it| {
            let named = |member: &str| format!("{INFO}/{member}");
            it.gives(200).at(&named("name"), json!("fixture")).at(&named("version"), json!("1.2.3"))
        })),
        wire(7, "an unknown revision is refused with those that are known", [
            list().revision("2031-01-01").fails(400, -32022).at("/error/data/supported/0", json!(NEWEST)).at("/error/data/requested", json!("2031-01-01")),
            request("server/discover", json!({})).revision("nonsense").fails(400, -32022).at("/error/data/requested", json!("nonsense")),
        ]),
        wire(8, "an error carries the id of its request", [
            call("nothing", json!({})).set("/id", json!("a-7")).fails(200, -32602).at("/id", json!("a-7")),
            call("nothing", json!({})).set("/id", json!(7)).fails(200, -32602).at("/id", json!(7)),
            list().set("/id", json!("9")).without("Mcp-Method").fails(400, -32020).at("/id", json!("9")),
            list().set("/id", json!(9_007_199_254_740_993_u64)).revision("x").fails(400, -32022).at("/id", json!(9_007_199_254_740_993_u64)),
        ]),
        story(9, "an id is never null, and notifications are not answered", || Box::pin(ids())),
        story(10, "the server asks nothing of a client that cannot be asked", || Box::pin(no_requests())),
        wire(11, "an array of messages is refused", [
            text("[]").header("MCP-Protocol-Version", NEWEST).fails(400, -32600),
            text(&json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}]).to_string())
                .header("MCP-Protocol-Version", NEWEST).header("Mcp-Method", "tools/list").fails(400, -32600),
        ]),
        story(12, "what a client can do is not remembered", || Box::pin(forgetful())),
        wire(13, "a question the client cannot answer is an error that says what it lacks", [
            call("ask_name", json!({})).fails(400, -32021).at("/error/data/requiredCapabilities", json!({"elicitation": {}})),
            call("ask_url", json!({})).can(json!({"elicitation": {"form": {}}})).fails(400, -32021).at("/error/data/requiredCapabilities", json!({"elicitation": {"url": {}}})),
            call("ask_model", json!({})).fails(400, -32021).at("/error/data/requiredCapabilities", json!({"sampling": {}})),
            call("ask_roots", json!({})).fails(400, -32021).at("/error/data/requiredCapabilities", json!({"roots": {}})),
        ]),
        wire(14, "a method of a feature that is not declared is not found", [
            request("tasks/list", json!({})).fails(404, -32601),
            request("tasks/result", json!({"taskId": "x"})).fails(404, -32601),
            request("roots/list", json!({})).fails(404, -32601),
        ]),
        wire(15, "codes that the protocol keeps for itself are not used for anything else", [
            call("spec_code", json!({})).fails(200, -32603),
            call("own_code", json!({})).fails(200, 4001),
            request("resources/read", json!({"uri": "test://nothing"})).fails(200, -32602),
        ]),
        story(16, "a list has the same order each time", || Box::pin(same_lists(false))),
        story(17, "a list is the same on every connection", || Box::pin(same_lists(true))),
        wire(23, "discovery says what there is", [
            request("server/discover", json!({})).gives(200)
                .at("/result/supportedVersions/0", json!(NEWEST)).at("/result/resultType", json!("complete"))
                .has("/result/capabilities/tools").count("/result/ttlMs").has("/result/cacheScope"),
        ]),
        story(24, "what is declared works, and what works is declared", || Box::pin(honest())),
        wire(25, "a server without handshake says so to a client that begins one", [
            initialize("2025-11-25").fails(400, -32022).at("/error/data/supported", json!([NEWEST])).to(TestOptions::eras(Eras::Modern)),
        ]),
    ]
}

/// A server with a tool and nothing else.
pub(crate) fn bare() -> TestOptions {
    TestOptions { bare: true, ..TestOptions::default() }
}

fn each_method<T>(check: impl Fn(Request) -> T) -> Vec<T> {
    every_method().into_iter().map(check).collect()
}

/// The same, and the result that is a question.
fn each_result<T>(check: impl Fn(Request) -> T) -> Vec<T> {
    let asking = call("ask_name", json!({})).can(json!({"elicitation": {}}));
    every_method().into_iter().chain([asking]).map(check).collect()
}

/// A good request for every method that has a result.
fn every_method() -> Vec<Request> {
    let reference = json!({"type": "ref/prompt", "name": "greeting"});
    vec![
        list(),
        call("echo", json!({"text": "hello"})),
        call("fail", json!({})),
        call("echo", json!({"text": 1})),
        request("server/discover", json!({})),
        request("resources/list", json!({})),
        request("resources/templates/list", json!({})),
        request("resources/read", json!({"uri": "test://static"})),
        request("prompts/list", json!({})),
        request("prompts/get", json!({"name": "greeting", "arguments": {"name": "Ann"}})),
        request(
            "completion/complete",
            json!({"ref": reference, "argument": {"name": "city", "value": "p"}}),
        ),
    ]
}

async fn ids() {
    let test_server = TestServer::open().await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    let null =
        json!({"jsonrpc": "2.0", "id": null, "method": "tools/list", "params": {"_meta": meta()}});
    link.send(null.to_string()).await;
    let refused = link.receive().await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    for method in ["notifications/nothing", "tools/list", "notifications/initialized"] {
        let notification = json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": meta()}});
        link.send(notification.to_string()).await;
    }
    let asked = json!({"jsonrpc": "2.0", "id": "after", "method": "tools/list", "params": {"_meta": meta()}});
    link.send(asked.to_string()).await;
    let answer = link.receive().await.unwrap();
    assert_eq!(answer["id"], "after", "{answer}");
    let answer = text(&null.to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", "tools/list");
    let mut answer = answer.send(test_server.address).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.message().await.unwrap()["error"]["code"], -32600);
}

async fn no_requests() {
    let test_server = TestServer::open().await;
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
    for tool in ["ask_name", "ask_both", "ask_url", "ask_model", "ask_roots", "steps", "chatter"] {
        let asked = call(tool, json!({}))
            .can(capabilities.clone())
            .set("/params/_meta/progressToken", json!("p"))
            .meta("logLevel", json!("debug"));
        for message in asked.send(test_server.address).await.messages().await {
            let is_request = message.get("id").is_some() && message.get("method").is_some();
            assert!(!is_request, "{message}");
        }
    }
}

async fn forgetful() {
    let test_server = TestServer::open().await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    for (capabilities, pointer) in [
        (json!({"elicitation": {}}), "/result/inputRequests"),
        (json!({}), "/error/data/requiredCapabilities"),
    ] {
        let asked = call("ask_name", json!({})).can(capabilities);
        link.send(asked.body()).await;
        let answer = link.receive().await.unwrap();
        assert!(answer.pointer(pointer).is_some(), "{pointer} in {answer}");
    }
}

async fn same_lists(connections: bool) {
    let test_server = TestServer::open().await;
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let asked = request(method, json!({}));
        let first = asked.ask(test_server.address).await;
        let mut transport = ClientTransport::open(&test_server, "link").await;
        transport.send(asked.body()).await;
        let other = match connections {
            true => transport.receive().await.unwrap(),
            false => asked.ask(test_server.address).await,
        };
        assert_eq!(first.to_string(), other.to_string(), "{method}");
    }
}

async fn honest() {
    let features = [
        ("tools", list()),
        ("prompts", request("prompts/list", json!({}))),
        ("resources", request("resources/list", json!({}))),
        (
            "completions",
            request(
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "city", "value": ""}}),
            ),
        ),
    ];
    for plan in [TestOptions::default(), bare()] {
        let test_server = TestServer::with(plan).await;
        let found = request("server/discover", json!({})).ask(test_server.address).await;
        for (feature, asked) in &features {
            let declared = found["result"]["capabilities"].get(feature).is_some();
            let answer = asked.ask(test_server.address).await;
            let works = answer["error"]["code"] != -32601;
            assert_eq!(declared, works, "{feature}: {found} {answer}");
        }
    }
}
