//! The answers of the bare servers, made by hand with `serde_json` and nothing else.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// As much of a message as an echo needs.
#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: u64,
    result: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    result_type: &'static str,
    content: [Block<'a>; 1],
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// The answer to a message, or nothing for a notification.
pub(crate) fn answer(body: &[u8]) -> Result<Option<Vec<u8>>, serde_json::Error> {
    let message: Message<'_> = serde_json::from_slice(body)?;
    let Some(id) = message.id else {
        return Ok(None);
    };
    if message.method == "initialize" {
        return Ok(Some(handshake(id).into_bytes()));
    }
    let arguments = message.params.and_then(|params| params.arguments);
    let text = arguments.map(|arguments| arguments.text).unwrap_or_default();
    let block = Block { r#type: "text", text: &text };
    let result = Outcome { result_type: "complete", content: [block] };
    let answer = Answer { jsonrpc: "2.0", id, result };
    serde_json::to_vec(&answer).map(Some)
}

fn handshake(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bare","version":"1"}}}}}}"#
    )
}
