//! A webhook that is told of calls that wait, and answers at once, later, or wrongly.

use gantry_tests::test_server::soon;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::fixture::{ApprovalFixture, refusal, wipe};

/// Takes one letter, and gives this reply.
async fn take(hook: &TcpListener, status: &str, reply: &Value) -> Value {
    let (mut stream, _) = soon("a letter", hook.accept()).await.expect("a connection");
    let mut heard = Vec::new();
    let letter = loop {
        let mut buffer = [0; 4096];
        let read = soon("the letter", stream.read(&mut buffer)).await.expect("it is sent");
        heard.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&heard).into_owned();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        if let Ok(letter) = serde_json::from_str(&body) {
            break letter;
        }
    };
    let reply = reply.to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{reply}",
        reply.len()
    );
    stream.write_all(answer.as_bytes()).await.expect("it is read");
    letter
}

async fn hook() -> (TcpListener, Value) {
    let hook = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/approve?team=a", hook.local_addr().expect("an address"));
    (hook, json!({"approvals": {"webhook": url}}))
}

#[tokio::test]
async fn a_webhook_answers_at_once() {
    for (word, runs) in [("approve", 1), ("deny", 0)] {
        let (hook, policy) = hook().await;
        let fixture = ApprovalFixture::open("hook", policy).await;
        let reply = json!({"decision": word});
        let (answer, letter) = fixture.during(&wipe("a"), take(&hook, "200 OK", &reply)).await;
        assert_eq!(fixture.runs(), runs, "{answer}");
        assert_eq!(refusal(&answer).contains("the webhook denied it"), runs == 0, "{answer}");
        assert_eq!(letter["arguments"], json!({"path": "a"}), "{letter}");
    }
}

/// The token of a letter answers that call and no other, and nothing else.
#[tokio::test]
async fn a_webhook_answers_later_with_its_token() {
    let (hook, policy) = hook().await;
    let fixture = ApprovalFixture::open("later", policy).await;
    let first = async {
        let letter = take(&hook, "202 Accepted", &json!({})).await;
        let (token, path) = (letter["answer"]["token"].as_str(), letter["answer"]["path"].as_str());
        let (token, path) = (token.expect("a token").to_owned(), path.expect("a path").to_owned());
        let yes = json!({"decision": "approve"});
        for (method, other) in [
            ("GET", "/api/approvals"),
            ("POST", "/api/approvals/nothing"),
            ("DELETE", &path),
            ("GET", "/api/trust"),
            ("POST", "/api/trust"),
            ("GET", "/api/tools"),
        ] {
            assert_eq!(
                fixture.admin_as(&token, method, other, &yes).await.0,
                401,
                "{method} {other}"
            );
        }
        assert_eq!(fixture.admin_as(&token[1..], "POST", &path, &yes).await.0, 401);
        assert_eq!(fixture.admin_as(&token, "POST", &path, &yes).await.0, 200);
        assert_eq!(fixture.admin_as(&token, "POST", &path, &yes).await.0, 401, "once");
        (token, path)
    };
    let (answer, (token, path)) = fixture.during(&wipe("a"), first).await;
    assert_eq!((refusal(&answer).as_str(), fixture.runs()), ("", 1));
    let second = async {
        let letter = take(&hook, "500 No", &json!({"decision": "approve"})).await;
        let other = letter["answer"]["path"].as_str().expect("a path").to_owned();
        assert_ne!(other, path);
        let yes = json!({"decision": "approve"});
        assert_eq!(fixture.admin_as(&token, "POST", &other, &yes).await.0, 401, "another call");
        fixture.answer(&letter["id"], json!({"decision": "deny"})).await
    };
    let (answer, (status, _)) = fixture.during(&wipe("a"), second).await;
    assert!(status == 200 && refusal(&answer).contains("the administrator denied it"), "{answer}");
    assert_eq!(fixture.runs(), 1);
}
