//! A client of one revision on one of the gateway's doors, which sees every byte of the answers.

use serde_json::{Value, json};

use super::{Yard, said};
use crate::http::Answer;
use crate::request::{NEWEST, initialize, message, meta, request};

/// A client. One with a handshake has a session of its own.
#[derive(Debug)]
pub struct Visitor {
    revision: &'static str,
    /// The session, over HTTP; none on the other door.
    session: Option<String>,
    is_posting: bool,
    last: u64,
}

impl Visitor {
    /// A client over HTTP.
    pub async fn posting(yard: &Yard, revision: &'static str) -> Self {
        let mut visitor = Self { revision, session: None, is_posting: true, last: 0 };
        if revision != NEWEST {
            let mut greeting = initialize(revision).send(yard.address).await;
            visitor.session = greeting.header("mcp-session-id").map(str::to_owned);
            greeting.messages().await;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let heard = visitor.post(yard, ready).await;
            assert_eq!(heard.status, 202, "the status of a notification");
        }
        visitor
    }

    /// A client on standard input and output, the only one there.
    pub async fn speaking(yard: &mut Yard, revision: &'static str) -> Self {
        if revision != NEWEST {
            yard.line(&initialize(revision).body()).await;
            yard.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        Self { revision, session: None, is_posting: false, last: 0 }
    }

    /// Its session, over HTTP.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    async fn post(&self, yard: &Yard, body: Value) -> Answer {
        let mut post = message(body);
        if let Some(session) = &self.session {
            post = post.of(session).header("MCP-Protocol-Version", self.revision);
        }
        post.send(yard.address).await
    }

    /// Sends a request: the text that answers it.
    pub async fn ask(&mut self, yard: &mut Yard, method: &str, params: Value) -> String {
        self.last += 1;
        let id = self.last;
        let mut params = params;
        if self.revision == NEWEST {
            params["_meta"] = meta();
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if !self.is_posting {
            return yard.line(&body.to_string()).await;
        }
        let mut answer = match self.revision {
            NEWEST => request(method, params).set("/id", json!(id)).send(yard.address).await,
            _ => self.post(yard, body).await,
        };
        if !answer.is_stream() {
            return answer.text().await;
        }
        loop {
            let event = answer.event().await.expect("an answer");
            if let Some(data) = event.data.filter(|data| data.contains("\"id\"")) {
                return data;
            }
        }
    }

    /// Calls a tool.
    pub async fn call(&mut self, yard: &mut Yard, tool: &str) -> Result<String, String> {
        let params = json!({"name": tool, "arguments": {}});
        let answer = self.ask(yard, "tools/call", params).await;
        said(&serde_json::from_str(&answer).expect("an answer is JSON"))
    }
}
