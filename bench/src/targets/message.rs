//! The answers of the bare servers, made by hand with `serde_json` and nothing else. Enough for a
//! gateway to take them for a real server, in the era that it asks in.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// As much of a message as an echo needs.
#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
    #[serde(borrow)]
    protocol_version: Option<Cow<'a, str>>,
    #[serde(rename = "_meta", default)]
    meta: Meta,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Only requests of 2026-07-28 name their revision here.
#[derive(Deserialize, Default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<IgnoredAny>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// A server that has the tool `echo`, and others that nobody calls.
pub(crate) struct Answers {
    tools: String,
    /// The text of a second block of each echo, if it has one.
    payload: String,
}

impl Answers {
    /// With so many other tools.
    pub(crate) fn new(more_tools: usize) -> Self {
        let names = (0..more_tools).map(|number| format!("echo_{number}"));
        let tools: Vec<_> =
            std::iter::once("echo".to_owned()).chain(names).map(|name| tool(&name)).collect();
        Self { tools: tools.join(","), payload: String::new() }
    }

    /// With so many bytes more in each echo: lines of a text, some of which must be escaped.
    pub(crate) fn payload(mut self, bytes: usize) -> Self {
        let line = "a line of \"text\" as a file has it, of some sixty bytes in all\n";
        self.payload = line.chars().cycle().take(bytes).collect();
        self
    }

    /// The answer to a message, or nothing for a notification.
    pub(crate) fn answer(&self, body: &[u8]) -> Result<Option<Vec<u8>>, serde_json::Error> {
        let message: Message<'_> = serde_json::from_slice(body)?;
        let Some(id) = message.id else {
            return Ok(None);
        };
        let (params, modern) = (&message.params, message.params.meta.revision.is_some());
        let result = match &*message.method {
            "tools/call" => return self.call(id, params, modern).map(Some),
            "tools/list" => self.list(modern),
            "server/discover" if modern => DISCOVERED.to_owned(),
            "initialize" => handshake(params.protocol_version.as_deref()),
            "ping" => "{}".to_owned(),
            _ => return Ok(Some(unknown(id).into_bytes())),
        };
        Ok(Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()))
    }

    fn call(
        &self,
        id: u64,
        params: &Params<'_>,
        modern: bool,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let text = params.arguments.as_ref().map_or("", |arguments| &arguments.text);
        let mut content = vec![Block { r#type: "text", text }];
        if !self.payload.is_empty() {
            content.push(Block { r#type: "text", text: &self.payload });
        }
        let result = Outcome { result_type: modern.then_some("complete"), content };
        serde_json::to_vec(&Answer { jsonrpc: "2.0", id, result })
    }

    fn list(&self, modern: bool) -> String {
        let head = if modern {
            r#""resultType":"complete","ttlMs":600000,"cacheScope":"public","#
        } else {
            ""
        };
        format!(r#"{{{head}"tools":[{}]}}"#, self.tools)
    }
}

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":600000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bare","version":"1"}}}"#;

fn handshake(asked: Option<&str>) -> String {
    // What is asked for is agreed to: the answers are the same in every revision with a handshake.
    let revision = asked.filter(|it| *it < "2026").unwrap_or("2025-11-25");
    format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bare","version":"1"}}}}"#
    )
}

fn unknown(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no such method"}}}}"#)
}

fn tool(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"Returns the text it was given","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}}}},"required":["text"]}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

    #[test]
    fn each_era_is_answered_in_its_own_form() {
        let answers = Answers::new(1);
        for (method, params, part) in [
            ("tools/call", r#""name":"echo","arguments":{"text":"a"}"#, r#""result":{"content""#),
            ("tools/call", MODERN, r#""result":{"resultType":"complete","content""#),
            ("tools/list", "", r#""result":{"tools":[{"name":"echo","#),
            ("tools/list", MODERN, r#""result":{"resultType":"complete","ttlMs""#),
            (
                "initialize",
                r#""protocolVersion":"2025-06-18""#,
                r#""protocolVersion":"2025-06-18""#,
            ),
            ("initialize", "", r#""protocolVersion":"2025-11-25""#),
            ("server/discover", MODERN, r#""supportedVersions":["2026-07-28"]"#),
            ("server/discover", "", r#""code":-32601"#),
        ] {
            let message = format!(r#"{{"id":1,"method":"{method}","params":{{{params}}}}}"#);
            let answer = answers.answer(message.as_bytes()).expect("JSON").expect("an answer");
            let answer = String::from_utf8(answer).expect("text");
            assert!(answer.contains(part), "{message}: {answer}");
        }
        let notice = br#"{"method":"notifications/initialized"}"#;
        assert!(answers.answer(notice).expect("JSON").is_none());
    }
}
