//! Checks 89 to 102: hints for caches, tools, resources, logging, progress, completion.

use gantry::{Failure, GatewaySettings, Tool};
use gantry_tests::checks::{Check, story, wire};
use gantry_tests::fixtures::keywords_schema;
use gantry_tests::request::{Request, call, list, request};
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

use crate::base::bare;

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        wire(89, "what may be kept says for how long and by whom", [
            kept(request("server/discover", json!({}))), kept(list()), kept(request("prompts/list", json!({}))),
            kept(request("resources/list", json!({}))), kept(request("resources/templates/list", json!({}))),
            kept(request("resources/read", json!({"uri": "test://static"}))),
            request("resources/read", json!({"uri": "test://asking"})).can(json!({"elicitation": {}})).gives(200)
                .at("/result/resultType", json!("input_required")).lacks("/result/ttlMs").lacks("/result/cacheScope"),
            call("echo", json!({"text": ""})).gives(200).lacks("/result/ttlMs"),
        ]),
        story(90, "all pages of a list may be kept by the same", || Box::pin(pages())),
        wire(93, "a tool that is not there is an error, one that fails has a result", [
            call("nothing", json!({})).fails(200, -32602),
            call("fail", json!({})).gives(200).at("/result/isError", json!(true)).at("/result/content/0/text", json!("it broke")),
            call("echo", json!({"text": 5})).gives(200).at("/result/isError", json!(true)),
        ]),
        wire(94, "a structured result is what its schema says, of any type", [
            call("add", json!({"a": 2, "b": 3})).gives(200).at("/result/structuredContent", json!({"sum": 5})),
            call("primes", json!({})).gives(200).at("/result/structuredContent", json!([2, 3, 5])),
        ]),
        story(96, "a schema is passed on as it is, one of an unknown dialect is refused", || Box::pin(schemas())),
        wire(97, "a resource that is not there is an error that names it", [
            request("resources/read", json!({"uri": "test://nothing"})).fails(200, -32602).at("/error/data/uri", json!("test://nothing")),
            request("resources/read", json!({"uri": "test://items/gone"})).fails(200, -32602).at("/error/data/uri", json!("test://items/gone")),
        ]),
        wire(98, "a cursor that is not ours is refused", [
            request("tools/list", json!({"cursor": "nonsense"})).fails(200, -32602),
            request("prompts/list", json!({"cursor": 5})).fails(200, -32602),
            request("resources/list", json!({"cursor": ""})).gives(200).has("/result/resources"),
        ]),
        story(99, "log messages are for those who ask, from the level they ask for", || Box::pin(logging())),
        story(100, "progress is for those who ask, rises, and ends with the answer", || Box::pin(progress())),
        wire(101, "completion gives no more than a hundred values", [
            complete("test://items/{id}", "").gives(200).at("/result/completion/total", json!(150)).at("/result/completion/hasMore", json!(true))
                .has("/result/completion/values/99").lacks("/result/completion/values/100"),
            complete("test://items/{id}", "14").gives(200).at("/result/completion/values/0", json!("14")).at("/result/completion/total", json!(11)),
            complete("test://nothing/{id}", "").fails(200, -32602),
            // Where there is nothing to complete, nothing of it is declared.
            complete("test://items/{id}", "").fails(404, -32601).to(bare()),
        ]),
        story(102, "names of tools are unique and well formed", || Box::pin(names())),
    ]
}

fn kept(request: Request) -> gantry_tests::checks::HttpExchange {
    request.gives(200).count("/result/ttlMs").at("/result/cacheScope", json!("private"))
}

fn complete(template: &str, typed: &str) -> Request {
    let reference = json!({"type": "ref/resource", "uri": template});
    request(
        "completion/complete",
        json!({"ref": reference, "argument": {"name": "id", "value": typed}}),
    )
}

async fn pages() {
    let middle = GatewaySettings { page_size: 4, ..GatewaySettings::default() };
    let test_server = TestServer::with(TestOptions { middle, ..TestOptions::default() }).await;
    let whole = list().ask(TestServer::open().await.address).await;
    let (mut found, mut scopes, mut cursor) = (Vec::new(), Vec::new(), Value::Null);
    loop {
        let page = list().set("/params/cursor", cursor).ask(test_server.address).await;
        found.extend(page["result"]["tools"].as_array().unwrap().clone());
        scopes.push(page["result"]["cacheScope"].clone());
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    scopes.dedup();
    assert_eq!(scopes.len(), 1, "{scopes:?}");
    assert_eq!(&found, whole["result"]["tools"].as_array().unwrap(), "the pages are the list");
}

async fn schemas() {
    let test_server = TestServer::open().await;
    let listed = list().ask(test_server.address).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "keywords").unwrap();
    assert_eq!(tool["inputSchema"].to_string(), keywords_schema().to_string());
    let strange = json!({"$schema": "https://example.com/another-dialect", "type": "object"});
    let tool = Tool::new("strange", "Strange.").input_schema(strange);
    let added =
        test_server.server.handlers().add_tool(tool.run(async |_: Value, _| Ok::<_, Failure>("")));
    assert!(added.unwrap_err().to_string().contains("another-dialect"));
}

async fn logging() {
    let test_server = TestServer::open().await;
    let cases: [(Value, &[&str]); 4] = [
        (Value::Null, &[]),
        (json!("debug"), &["debug", "info", "warning", "error"]),
        (json!("warning"), &["warning", "error"]),
        (json!("emergency"), &[]),
    ];
    for (level, expected) in cases {
        let mut heard = call("chatter", json!({}))
            .meta("logLevel", level.clone())
            .send(test_server.address)
            .await
            .messages()
            .await;
        let answer = heard.pop().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "said it", "{answer}");
        let levels: Vec<_> =
            heard.iter().map(|message| message["params"]["level"].as_str().unwrap()).collect();
        assert_eq!(levels, expected, "at {level}");
    }
    let answer =
        call("chatter", json!({})).meta("logLevel", json!("loud")).ask(test_server.address).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

async fn progress() {
    let test_server = TestServer::open().await;
    let heard = call("steps", json!({})).send(test_server.address).await.messages().await;
    assert_eq!(heard.len(), 1, "nobody asked for progress: {heard:?}");
    for token in [json!("p"), json!(5)] {
        let asked = call("steps", json!({})).set("/params/_meta/progressToken", token.clone());
        let mut heard = asked.send(test_server.address).await.messages().await;
        assert!(heard.pop().unwrap().get("result").is_some(), "the answer is last");
        let steps: Vec<_> =
            heard.iter().map(|step| step["params"]["progress"].as_f64().unwrap()).collect();
        assert_eq!(steps, [1.0, 2.0, 3.0]);
        assert!(heard.iter().all(|step| step["params"]["progressToken"] == token), "{heard:?}");
    }
}

async fn names() {
    let test_server = TestServer::open().await;
    let listed = list().ask(test_server.address).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    assert!(names.iter().all(|name| name.len() <= 128 && name.bytes().all(allowed)), "{names:?}");
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for bad in ["echo", "two words", ""] {
        let tool = Tool::new(bad, "Another.").run(async |_: Value, _| Ok::<_, Failure>(""));
        assert!(test_server.server.handlers().add_tool(tool).is_err(), "`{bad}` was taken");
    }
}
