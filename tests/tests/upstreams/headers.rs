//! What is between a client and the gateway stays there, and so does what is between the gateway
//! and a server: each server gets the headers of its own entry and nothing of any client's.

use gantry_tests::http::Answer;
use gantry_tests::request::{NEWEST, Request, call, initialize, list, message};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{Scripted, UpstreamFixture};
use serde_json::{Value, json};

/// What a server must never hear: it stands in every header of the client that is nobody's business.
const MARK: &str = "client-private";

/// What the entry of one server says, and of no other.
const KEY: &str = "Bearer servers-own-key";

/// A client with a token, and with all else that clients and what stands before them may send.
fn private(request: Request, token: &str) -> Request {
    let names = [
        "Cookie",
        "Proxy-Authorization",
        "X-Api-Key",
        "X-Authorization",
        "Forwarded",
        "X-Forwarded-For",
        "X-Request-Id",
        "Referer",
        "User-Agent",
        "Last-Event-ID",
        "Baggage",
    ];
    let add = |request: Request, name: &&str| request.header(name, &format!("{MARK}={name}"));
    names.iter().fold(request.by(token), add)
}

/// A client of one revision.
struct Client<'a> {
    fixture: &'a UpstreamFixture,
    token: &'a str,
    /// The session, if it has one.
    session: Option<String>,
}

impl<'a> Client<'a> {
    async fn new(fixture: &'a UpstreamFixture, token: &'a str, revision: &str) -> Self {
        let mut client = Self { fixture, token, session: None };
        if revision != NEWEST {
            let greeting = private(initialize(revision), token).send(fixture.address).await;
            client.session = greeting.header("mcp-session-id").map(str::to_owned);
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert_eq!(client.send(message(ready)).await.status, 202);
        }
        client
    }

    async fn send(&self, request: Request) -> Answer {
        let request = match &self.session {
            Some(session) => request.of(session),
            None => request,
        };
        private(request, self.token).send(self.fixture.address).await
    }

    /// Every request that a server has had, this call among them. The answer is the gateway's own.
    async fn requests_of(&self, server: &str) -> Vec<String> {
        let params = json!({"name": format!("{server}_odd"), "arguments": {}});
        let request = match &self.session {
            Some(_) => message(
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
            ),
            None => call(&format!("{server}_odd"), json!({})),
        };
        let mut answer = self.send(request).await;
        for name in ["set-cookie", "x-scripted"] {
            assert_eq!(answer.header(name), None, "{server}");
        }
        assert_ne!(answer.header("mcp-session-id"), Some("scripted-session"), "{server}");
        let answer = answer.messages().await.pop().expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str();
        serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).expect("requests")
    }
}

/// The values of a header in the head of a request.
fn header<'a>(request: &'a str, name: &str) -> Vec<&'a str> {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
}

/// Clients of both eras before a server of that era that has headers of its own, and one that has
/// none.
async fn check(name: &str, words: &[&str]) {
    let (own, bare) = (Scripted::start(words).await, Scripted::start(words).await);
    let headers = json!({"Authorization": KEY, "X-Own": "own"});
    let servers =
        json!({"own": own.entry(json!({"headers": headers})), "bare": bare.entry(json!({}))});
    let config = json!({"auth": "token", "pins": "off", "mcpServers": servers});
    let fixture = UpstreamFixture::with(&format!("headers-{name}"), config).await;
    let token = fixture.token("ada").await;
    soon("tools of both", offered(&fixture, &token)).await;
    for revision in [NEWEST, "2025-11-25"] {
        let client = Client::new(&fixture, &token, revision).await;
        for (server, expected) in [("own", Some(KEY)), ("bare", None)] {
            let requests = client.requests_of(server).await;
            let calls = requests.iter().filter(|it| it.contains("tools/call")).count();
            assert!(calls > 0 && requests.len() > calls, "{requests:?}");
            for request in &requests {
                let case = format!("{name} {revision} {server}: {request}");
                let secrets = [Some(MARK), Some(&*token), client.session.as_deref()];
                for secret in secrets.into_iter().flatten() {
                    assert!(!request.contains(secret), "{secret} in {case}");
                }
                let expected: Vec<&str> = expected.into_iter().collect();
                assert_eq!(header(request, "authorization"), expected, "{case}");
                assert_eq!(header(request, "x-own").len(), expected.len(), "{case}");
                assert_eq!(header(request, "cookie"), Vec::<&str>::new(), "{case}");
            }
        }
    }
    fixture.close().await;
}

/// Waits until the tools of both servers are listed.
async fn offered(fixture: &UpstreamFixture, token: &str) {
    let is_offered = |listed: &Value, name: &str| {
        let tools = listed["result"]["tools"].as_array().expect("a list of tools");
        tools.iter().any(|tool| tool["name"] == name)
    };
    loop {
        let listed = list().by(token).ask(fixture.address).await;
        if ["own_odd", "bare_odd"].iter().all(|name| is_offered(&listed, name)) {
            return;
        }
    }
}

#[tokio::test]
async fn a_server_with_handshake_gets_its_own_headers_and_no_clients() {
    check("handshake", &["recounts"]).await;
}

#[tokio::test]
async fn a_server_without_handshake_gets_its_own_headers_and_no_clients() {
    check("standalone", &["recounts", "--modern"]).await;
}
