//! Finding out the era, and the handshake.

use serde_json::{Value, json};

use super::peer::{Server, open, pipe};
use crate::error::ClientError;
use crate::peer::Peer;
use crate::settings::{Era, Settings};

/// What a scripted server does with each message that it is sent, in order.
enum Does {
    Answers(Value),
    Fails(Value),
    Nothing,
    Dies,
}

use Does::{Answers, Dies, Fails, Nothing};

/// Plays the script; says what it was sent.
async fn play(mut server: Server, script: Vec<Does>) -> (Vec<String>, Server) {
    let mut heard = Vec::new();
    for step in script {
        let message = server.next().await;
        heard.push(message["method"].as_str().unwrap_or_default().to_owned());
        match step {
            Answers(result) => server.answer(&message, result).await,
            Fails(error) => server.fail(&message, error).await,
            Nothing => {}
            Dies => {
                server.say.send(Err("it died".into())).await.unwrap();
                break;
            }
        }
    }
    (heard, server)
}

async fn greet(era: Era, script: Vec<Does>) -> (Result<Peer, ClientError>, String) {
    let (server, pipe) = pipe();
    let settings = Settings { era, ..Settings::default() };
    let ((opened, _events), (heard, _server)) =
        tokio::join!(open(pipe, settings), play(server, script));
    (opened.map(|it| Peer::clone(it.peer())), heard.join(" "))
}

fn hello(version: &str) -> Does {
    Answers(
        json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}, "instructions": "be kind"}),
    )
}

fn discovered(versions: &[&str]) -> Does {
    Answers(
        json!({"resultType": "complete", "supportedVersions": versions, "capabilities": {"tools": {}}}),
    )
}

fn error(code: i64) -> Does {
    Fails(json!({"code": code, "message": "no"}))
}

fn unsupported(versions: &[&str]) -> Does {
    Fails(
        json!({"code": -32022, "message": "no", "data": {"supported": versions, "requested": "x"}}),
    )
}

const HANDSHAKE: &str = "server/discover initialize notifications/initialized";

#[tokio::test(start_paused = true)]
async fn the_era_is_found_out() {
    let cases = [
        ("newest", vec![discovered(&["2026-07-28"])], "2026-07-28", "server/discover"),
        ("both", vec![discovered(&["2025-11-25", "2026-07-28"])], "2026-07-28", "server/discover"),
        (
            "older only",
            vec![discovered(&["2025-06-18"]), hello("2025-06-18"), Nothing],
            "2025-06-18",
            HANDSHAKE,
        ),
        (
            "unknown method",
            vec![error(-32601), hello("2025-11-25"), Nothing],
            "2025-11-25",
            HANDSHAKE,
        ),
        ("bad params", vec![error(-32602), hello("2025-03-26"), Nothing], "2025-03-26", HANDSHAKE),
        ("own code", vec![error(-32000), hello("2024-11-05"), Nothing], "2024-11-05", HANDSHAKE),
        ("silence", vec![Nothing, hello("2024-11-05"), Nothing], "2024-11-05", HANDSHAKE),
        (
            "any result",
            vec![Answers(json!({})), hello("2025-06-18"), Nothing],
            "2025-06-18",
            HANDSHAKE,
        ),
        (
            "refusal with older ones",
            vec![unsupported(&["2025-11-25"]), hello("2025-11-25"), Nothing],
            "2025-11-25",
            HANDSHAKE,
        ),
        (
            "refusal that names ours",
            vec![unsupported(&["2026-07-28"]), discovered(&["2026-07-28"])],
            "2026-07-28",
            "server/discover server/discover",
        ),
        (
            "slow",
            vec![Nothing, error(-32601), discovered(&["2026-07-28"])],
            "2026-07-28",
            "server/discover initialize server/discover",
        ),
        (
            "refused handshake",
            vec![Nothing, unsupported(&["2026-07-28"]), discovered(&["2026-07-28"])],
            "2026-07-28",
            "server/discover initialize server/discover",
        ),
    ];
    for (case, script, revision, heard) in cases {
        let (peer, found) = greet(Era::Auto, script).await;
        assert_eq!(found, heard, "{case}");
        assert_eq!(peer.expect(case).revision.as_str(), revision, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_given_era_is_not_asked_for() {
    let cases = [
        (Era::Legacy, vec![hello("2025-06-18"), Nothing], "initialize notifications/initialized"),
        (Era::Modern, vec![discovered(&["2026-07-28"])], "server/discover"),
    ];
    for (era, script, expected) in cases {
        let (peer, heard) = greet(era, script).await;
        assert_eq!(heard, expected, "{era:?}");
        peer.expect("the server is greeted");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_greeted_says_why() {
    let cases = [
        (vec![discovered(&["2031-01-01"])], "2031-01-01"),
        (vec![unsupported(&["2031-01-01"])], "2031-01-01"),
        (vec![unsupported(&["2026-07-28"]), unsupported(&["2026-07-28"])], "lists it as supported"),
        (vec![error(-32021)], "server/discover"),
        (vec![error(-32601), hello("1999-01-01")], "2025-11-25 with `1999-01-01`"),
        (vec![error(-32601), hello("2026-07-28")], "2026-07-28"),
        (vec![error(-32601), error(-32603)], "refused `initialize`: no (-32603)"),
        (vec![error(-32601), Answers(json!({}))], "protocolVersion"),
        (vec![error(-32601), Dies], "it died"),
        (vec![Dies], "it died"),
    ];
    for (script, expected) in cases {
        let (peer, _) = greet(Era::Auto, script).await;
        let error = peer.expect_err(expected);
        assert!(error.is_unsent(), "{error:?}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn a_server_is_offered_what_its_revision_knows() {
    let (mut server, pipe) = pipe();
    let capabilities = super::raw(&json!({"elicitation": {"form": {}, "url": {}}, "roots": {}}));
    let offer = gantry_protocol::Revision::V2025_06_18;
    let settings = Settings { era: Era::Legacy, capabilities, offer, ..Settings::default() };
    let opening = tokio::spawn(open(pipe, settings));
    let hello = server.next().await;
    assert_eq!(hello["params"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["params"]["capabilities"], json!({"elicitation": {}, "roots": {}}));
    assert_eq!(hello["params"]["clientInfo"]["name"], "gantry");
    opening.abort();
}
