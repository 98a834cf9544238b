//! Checks 81 to 86: streams of changes.

use gantry::{Failure, Prompt, PromptMessage, Resource, Server, Tool};
use gantry_tests::checks::{Check, story};
use gantry_tests::http::Answer;
use gantry_tests::request::{Request, call, request};
use gantry_tests::test_server::TestServer;
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

const TAG: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        story(81, "a stream begins with what is granted", || Box::pin(granted())),
        story(82, "everything on a stream carries the id of its request", || Box::pin(tagged())),
        story(83, "a stream has nothing that was not asked for", || Box::pin(nothing_else())),
        story(84, "changes reach everyone who asked for them", || Box::pin(changes())),
        story(85, "a stream that the server ends has an answer", || Box::pin(ended())),
        story(86, "two streams at once are told apart", || Box::pin(two())),
    ]
}

fn listen(id: Value, wanted: Value) -> Request {
    request("subscriptions/listen", json!({"notifications": wanted})).set("/id", id)
}

fn everything() -> Value {
    json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["test://watched"],
    })
}

/// Changes something in a running server.
type DefinitionChange = fn(&Server);

/// Opens a stream and takes its first message.
async fn open(test_server: &TestServer, request: &Request) -> Answer {
    let mut stream = request.send(test_server.address).await;
    let first = stream.message().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    stream
}

fn add_tool(server: &Server) {
    let tool = Tool::new("added", "Added.").run(async |_: Value, _| Ok::<_, Failure>("new"));
    server.handlers().add_tool(tool).unwrap();
}

fn add_prompt(server: &Server) {
    let prompt =
        Prompt::new("added").render(async |_, _| Ok::<_, Failure>(PromptMessage::user("new")));
    server.handlers().add_prompt(prompt).unwrap();
}

fn add_resource(server: &Server) {
    let resource =
        Resource::new("test://added", "added").read(async |_, _| Ok::<_, Failure>("new"));
    server.handlers().add_resource(resource).unwrap();
}

async fn granted() {
    let test_server = TestServer::open().await;
    let wanted = json!({
        "toolsListChanged": true, "promptsListChanged": false, "otherListChanged": true,
        "resourceSubscriptions": ["test://watched", "test://nothing"],
    });
    let expected = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://watched"]});
    let first =
        listen(json!("l"), wanted.clone()).send(test_server.address).await.message().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(first["params"]["notifications"], expected, "{first}");
    assert_eq!(first.pointer(TAG), Some(&json!("l")), "{first}");
    let mut link = ClientTransport::open(&test_server, "link").await;
    link.send(listen(json!(4), wanted).body()).await;
    let first = link.receive().await.unwrap();
    assert_eq!(first["params"]["notifications"], expected, "{first}");
}

async fn tagged() {
    for id in [json!("text"), json!(12)] {
        let test_server = TestServer::open().await;
        let mut stream = open(&test_server, &listen(id.clone(), everything())).await;
        test_server.server.handlers().resource_updated("test://watched");
        let message = stream.message().await.unwrap();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        assert_eq!(message["params"]["uri"], "test://watched", "{message}");
        assert_eq!(message.pointer(TAG), Some(&id), "{message}");
        add_tool(&test_server.server);
        let message = stream.message().await.unwrap();
        assert_eq!(message["method"], "notifications/tools/list_changed", "{message}");
        assert_eq!(message.pointer(TAG), Some(&id), "{message}");
    }
}

async fn nothing_else() {
    let test_server = TestServer::open().await;
    let mut stream =
        open(&test_server, &listen(json!(1), json!({"promptsListChanged": true}))).await;
    add_tool(&test_server.server);
    add_resource(&test_server.server);
    test_server.server.handlers().resource_updated("test://watched");
    let talkative = call("steps", json!({}))
        .set("/params/_meta/progressToken", json!(1))
        .meta("logLevel", json!("debug"));
    talkative.ask(test_server.address).await;
    add_prompt(&test_server.server);
    let message = stream.message().await.unwrap();
    assert_eq!(message["method"], "notifications/prompts/list_changed", "{message}");
}

async fn changes() {
    let cases: [(&str, DefinitionChange, &str); 3] = [
        ("toolsListChanged", add_tool, "notifications/tools/list_changed"),
        ("promptsListChanged", add_prompt, "notifications/prompts/list_changed"),
        ("resourcesListChanged", add_resource, "notifications/resources/list_changed"),
    ];
    for (filter, change, method) in cases {
        let test_server = TestServer::open().await;
        let wanted = listen(json!(1), json!({filter: true}));
        let mut streams = [open(&test_server, &wanted).await, open(&test_server, &wanted).await];
        change(&test_server.server);
        for stream in &mut streams {
            assert_eq!(stream.message().await.unwrap()["method"], method);
        }
    }
}

async fn ended() {
    let test_server = TestServer::open().await;
    let mut stream = open(&test_server, &listen(json!("l"), everything())).await;
    test_server.server.stop();
    let last = stream.message().await.unwrap();
    assert_eq!(last["id"], "l", "{last}");
    assert_eq!(last["result"]["resultType"], "complete", "{last}");
    assert_eq!(last.pointer(&TAG.replace("params", "result")), Some(&json!("l")), "{last}");
    assert_eq!(stream.message().await, None, "the stream is over");
    test_server.close().await;
}

async fn two() {
    let test_server = TestServer::open().await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    for id in [json!(1), json!("1")] {
        link.send(listen(id.clone(), everything()).body()).await;
        assert_eq!(link.receive().await.unwrap().pointer(TAG), Some(&id));
    }
    test_server.server.handlers().resource_updated("test://watched");
    let mut tags = Vec::new();
    for _ in 0..2 {
        let message = link.receive().await.unwrap();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        tags.push(message.pointer(TAG).cloned().unwrap());
    }
    assert!(tags.contains(&json!(1)) && tags.contains(&json!("1")), "{tags:?}");
}
