//! Virtual servers under `/mcp/NAME`: everything that the main endpoint has, for clients of
//! both eras, and nothing of one can be used at another.

use std::sync::Arc;

use gantry::{Failure, Gateway, Handlers, Resource, ServerInfo, Tool};
use gantry_tests::latch::Latch;
use gantry_tests::request::{Request, bodiless, call, initialize, list, message, request};
use gantry_tests::test_server::TestServer;
use serde_json::{Value, json};

const OLDER: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A house with faces.
struct Block {
    test_server: TestServer,
    latch: Latch,
}

/// A face with tools that say where they are, ask, and wait.
fn virtual_server(main: &Arc<Gateway>, name: &str, latch: &Latch) -> Arc<Gateway> {
    let gateway = main.virtual_server(ServerInfo::new(name, "1"));
    let handlers = Handlers::default();
    let (answer, latch) = (format!("in {name}"), latch.clone());
    let schema = json!({"type": "object"});
    let tools = [
        Tool::new("where", "Says where it is.").input_schema(schema.clone()).run(
            move |_: Value, _| {
                let answer = answer.clone();
                async { Ok::<_, Failure>(answer) }
            },
        ),
        Tool::new("ask", "Asks.").input_schema(schema.clone()).run(async |_: Value, context| {
            let answer = context.elicit("Who?", &json!({"type": "object"})).await?;
            Ok::<_, Failure>(answer.action)
        }),
        Tool::new("session", "Names the session.").input_schema(schema.clone()).run(
            async |_: Value, context| {
                let session = context.caller().session.as_deref();
                Ok::<_, Failure>(session.unwrap_or("none").to_owned())
            },
        ),
        Tool::new("wait", "Waits.").input_schema(schema).run(move |_: Value, _| {
            let latch = latch.clone();
            async move {
                latch.pass().await;
                Ok::<_, Failure>("passed")
            }
        }),
    ];
    tools.into_iter().for_each(|tool| handlers.add_tool(tool).expect("a tool"));
    let thing = Resource::new("test://thing", "thing").read(async |_, _| Ok::<_, Failure>("it"));
    handlers.add_resource(thing).expect("a resource");
    handlers.publish_to(gateway.attach(Arc::new(handlers.clone())));
    gateway
}

impl Block {
    async fn open() -> Self {
        let block = Self { test_server: TestServer::open().await, latch: Latch::default() };
        block.open_virtual_server("left");
        block.open_virtual_server("right one");
        block
    }

    fn open_virtual_server(&self, name: &str) {
        let server = &self.test_server.server;
        server.open_virtual_server(name, virtual_server(server.gateway(), name, &self.latch));
    }

    async fn ask(&self, request: Request) -> Value {
        request.ask(self.test_server.address).await
    }

    async fn status(&self, request: Request) -> u16 {
        request.send(self.test_server.address).await.status
    }

    /// Opens a session and gives its id.
    async fn session(&self, path: &str, revision: &str) -> String {
        let answer = initialize(revision).to(path).send(self.test_server.address).await;
        answer.header("mcp-session-id").expect("a session").to_owned()
    }
}

fn of_session(id: &str, method: &str, params: &Value) -> Request {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    message(body).of(id)
}

fn tool_of_session(id: &str, tool: &str) -> Request {
    of_session(id, "tools/call", &json!({"name": tool, "arguments": {}}))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("text in {answer}"))
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("tools in {answer}"));
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn each_face_is_a_server_of_its_own() {
    let block = Block::open().await;
    let tools = ["ask", "session", "wait", "where"];
    for (path, name) in [("/mcp/left", "left"), ("/mcp/right%20one", "right one")] {
        let found = block.ask(request("server/discover", json!({})).to(path)).await;
        let info = &found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], name, "{found}");
        assert_eq!(names(&block.ask(list().to(path)).await), tools);
        let answer = block.ask(call("where", json!({})).to(path)).await;
        assert_eq!(text(&answer), format!("in {name}"));
        for revision in OLDER {
            let answer = block.ask(initialize(revision).to(path)).await;
            assert_eq!(answer["result"]["serverInfo"]["name"], name, "{revision}");
            let id = block.session(path, revision).await;
            let listed = block.ask(of_session(&id, "tools/list", &json!({})).to(path)).await;
            assert_eq!(names(&listed), tools, "{revision}");
            let answer = block.ask(tool_of_session(&id, "where").to(path)).await;
            assert_eq!(text(&answer), format!("in {name}"), "{revision}");
            let deleted = block.status(bodiless("DELETE").of(&id).to(path)).await;
            assert_eq!(deleted, 200, "{revision}");
        }
    }
    let main = block.ask(list()).await;
    assert!(!names(&main).contains(&"where"), "the main one shows what it has itself");
}

#[tokio::test]
async fn a_name_that_is_not_there_is_told_what_is() {
    let block = Block::open().await;
    for path in ["/mcp/nobody", "/mcp/", "/mcp/left/more", "/mcp/LEFT", "/mcp/%zz"] {
        for wanted in [list(), bodiless("GET"), bodiless("DELETE"), initialize("2025-06-18")] {
            let mut answer = wanted.to(path).send(block.test_server.address).await;
            assert_eq!(answer.status, 404, "{path}");
            let said = answer.text().await;
            assert!(said.contains("/mcp/left, /mcp/right one"), "{path}: {said}");
        }
    }
    block.test_server.server.close_virtual_server("left");
    block.test_server.server.close_virtual_server("right one");
    let mut answer = list().to("/mcp/left").send(block.test_server.address).await;
    assert!(answer.text().await.contains("the MCP endpoint is /mcp"));
}

#[tokio::test]
async fn a_session_is_known_only_where_it_was_opened() {
    let block = Block::open().await;
    let paths = ["/mcp", "/mcp/left", "/mcp/right%20one"];
    for own in paths {
        let id = block.session(own, "2025-11-25").await;
        // Once as sealed, once while it is in memory.
        for round in 0..2 {
            for path in paths.into_iter().filter(|path| *path != own) {
                for wanted in [of_session(&id, "ping", &json!({})), bodiless("DELETE").of(&id)] {
                    assert_eq!(block.status(wanted.to(path)).await, 404, "{own} at {path} {round}");
                }
            }
            let ping = of_session(&id, "ping", &json!({})).to(own);
            assert_eq!(block.status(ping).await, 200, "{own} {round}");
        }
    }
}

#[tokio::test]
async fn a_call_goes_on_only_where_it_was_made() {
    let block = Block::open().await;
    let asking = call("ask", json!({})).can(json!({"elicitation": {}}));
    let asked = block.ask(asking.clone().to("/mcp/left")).await;
    let state = asked["result"]["requestState"].clone();
    let answers = json!({"elicitation-1": {"action": "decline"}});
    let retry = asking.set("/params/requestState", state).set("/params/inputResponses", answers);
    for path in ["/mcp", "/mcp/right%20one"] {
        let answer = block.ask(retry.clone().to(path)).await;
        assert_eq!(answer["error"]["code"], -32602, "{path}: {answer}");
    }
    let answer = block.ask(retry.to("/mcp/left")).await;
    assert_eq!(text(&answer), "decline", "{answer}");
}

#[tokio::test]
async fn calls_say_which_session_they_belong_to() {
    let block = Block::open().await;
    let alone = block.ask(call("session", json!({})).to("/mcp/left")).await;
    assert_eq!(text(&alone), "none");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let id = block.session("/mcp/left", "2025-06-18").await;
        let session = || tool_of_session(&id, "session").to("/mcp/left");
        let (one, other) = (block.ask(session()).await, block.ask(session()).await);
        assert_eq!(text(&one), text(&other), "the same for all its calls");
        assert!(!id.contains(text(&one)), "it is not the sealed text");
        seen.push(text(&one).to_owned());
    }
    assert_ne!(seen[0], seen[1], "another for another session");
}

#[tokio::test]
async fn what_goes_on_at_a_face_ends_with_it() {
    let block = Block::open().await;
    let (path, address) = ("/mcp/left", block.test_server.address);
    let id = block.session(path, "2025-11-25").await;
    let mut general = bodiless("GET").of(&id).to(path).send(address).await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://thing"]}});
    let mut listening = request("subscriptions/listen", wanted).to(path).send(address).await;
    let granted = listening.message().await.expect("an acknowledgement");
    assert_eq!(granted["params"]["notifications"]["resourceSubscriptions"][0], "test://thing");
    let waiting = tool_of_session(&id, "wait").to(path);
    let waiting = tokio::spawn(async move { waiting.send(address).await.status });
    block.latch.started(1).await;
    let asking = call("ask", json!({})).can(json!({"elicitation": {}})).to(path);
    let state = block.ask(asking.clone()).await["result"]["requestState"].clone();
    let other = block.session("/mcp/right%20one", "2025-11-25").await;

    assert!(block.test_server.server.close_virtual_server("left"));
    assert!(!block.test_server.server.close_virtual_server("left"));
    while general.event().await.is_some() {}
    let last = listening.messages().await.pop().expect("an answer");
    assert_eq!(last["result"]["resultType"], "complete", "{last}");
    block.latch.cancelled(1).await;
    assert_eq!(waiting.await.unwrap(), 202, "a call that was given up has no answer");
    let ping = |id: &str| of_session(id, "ping", &json!({}));
    assert_eq!(block.status(ping(&id).to(path)).await, 404);
    assert_eq!(block.status(ping(&other).to("/mcp/right%20one")).await, 200, "others go on");

    block.open_virtual_server("left");
    assert_eq!(block.status(ping(&id).to(path)).await, 200, "and so does it when it is back");
    let answers = json!({"elicitation-1": {"action": "decline"}});
    let retry = asking.set("/params/requestState", state).set("/params/inputResponses", answers);
    let lost = block.ask(retry).await;
    assert_eq!(lost["error"]["code"], -32602, "the call that waited is lost: {lost}");
    block.test_server.close().await;
}
