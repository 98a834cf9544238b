//! Error codes and results of servers of every revision, as clients of every revision get them.

use gantry_tests::request::NEWEST;
use gantry_tests::upstream_fixture::{RawClient, UpstreamFixture};
use serde_json::{Map, Value, json};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEWEST];

/// Codes that mean something in one revision or another, and their neighbours.
const CODES: [i64; 18] = [
    1, -1, -31999, -32000, -32001, -32002, -32010, -32019, -32020, -32021, -32023, -32042, -32050,
    -32099, -32100, -32601, -32602, -32603,
];

/// The code that a client is given.
fn expected(server: &str, client: &str, code: i64) -> i64 {
    match code {
        // Of the hop between gateway and server.
        -32020 | -32021 if server == NEWEST => -32603,
        // Reserved by the client's revision.
        -32099..=-32020 if client == NEWEST => -32603,
        -32002 if client == NEWEST => -32602,
        code => code,
    }
}

/// A server of each revision, called by it.
async fn servers(name: &str) -> UpstreamFixture {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upstreams/errors.py");
    let server = |revision: &&str| {
        (revision.to_string(), json!({"command": "python3", "args": [script, revision]}))
    };
    let fixture =
        UpstreamFixture::open(name, Value::Object(REVISIONS.iter().map(server).collect())).await;
    for server in REVISIONS {
        fixture.until_listed(server).await;
    }
    fixture
}

/// What a client of a revision is answered to a call of a server's tool.
async fn called(
    fixture: &mut UpstreamFixture,
    client: &mut RawClient,
    server: &str,
    arguments: Value,
) -> Value {
    let params = json!({"name": format!("{server}_odd"), "arguments": arguments});
    let answer = client.ask(fixture, "tools/call", params).await;
    serde_json::from_str(&answer).expect("JSON")
}

#[tokio::test]
async fn codes_are_passed_on_where_the_clients_revision_leaves_them_free() {
    let mut fixture = servers("codes").await;
    for client in REVISIONS {
        let mut raw_client = RawClient::posting(&fixture, client).await;
        for (server, code) in REVISIONS.iter().flat_map(|it| CODES.map(|code| (*it, code))) {
            let case = format!("{code} of a server of {server} for a client of {client}");
            let data = json!({"n": 1.5, "code": code});
            let arguments = json!({"code": code, "data": data});
            let answer = called(&mut fixture, &mut raw_client, server, arguments).await;
            let error = &answer["error"];
            assert_eq!(error["code"], expected(server, client, code), "{case}: {answer}");
            assert_eq!(error["data"], data, "{case}: {answer}");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.ends_with("it says no"), "{case}: {answer}");
        }
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_result_without_content_gets_an_empty_one() {
    let mut fixture = servers("contentless").await;
    let text = json!([{"type": "text", "text": r#"{"a":1}"#}]);
    for client in REVISIONS {
        let mut raw_client = RawClient::posting(&fixture, client).await;
        let structured = if client < "2025-06-18" { text.clone() } else { json!([]) };
        for (result, content) in [
            (json!({}), json!([])),
            (json!({"content": null}), json!([])),
            (json!({"isError": true}), json!([])),
            (json!({"structuredContent": {"a": 1}}), structured),
            (json!({"content": text}), text.clone()),
        ] {
            for server in REVISIONS {
                let mut result: Map<String, Value> = result.as_object().expect("it").clone();
                if server == NEWEST {
                    result.insert("resultType".to_owned(), json!("complete"));
                }
                let arguments = json!({"result": result});
                let answer = called(&mut fixture, &mut raw_client, server, arguments.clone()).await;
                let case = format!("{arguments} of {server} for {client}: {answer}");
                assert_eq!(answer["result"]["content"], content, "{case}");
            }
        }
    }
    fixture.close().await;
}
