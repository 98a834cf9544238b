//! A client of one revision on one of the gateway's doors, which sees every byte of the answers.

use serde_json::{Value, json};

use super::{UpstreamFixture, said};
use crate::http::Answer;
use crate::request::{NEWEST, initialize, message, meta, request};

/// A client. One with a handshake has a session of its own.
#[derive(Debug)]
pub struct RawClient {
    revision: &'static str,
    /// The session, over HTTP; none on the other door.
    session: Option<String>,
    is_posting: bool,
    last: u64,
}

impl RawClient {
    /// A client over HTTP.
    pub async fn posting(fixture: &UpstreamFixture, revision: &'static str) -> Self {
        let mut raw_client = Self { revision, session: None, is_posting: true, last: 0 };
        if revision != NEWEST {
            let mut greeting = initialize(revision).send(fixture.address).await;
            raw_client.session = greeting.header("mcp-session-id").map(str::to_owned);
            greeting.messages().await;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let heard = raw_client.post(fixture, ready).await;
            assert_eq!(heard.status, 202, "the status of a notification");
        }
        raw_client
    }

    /// A client on standard input and output, the only one there.
    pub async fn speaking(fixture: &mut UpstreamFixture, revision: &'static str) -> Self {
        if revision != NEWEST {
            fixture.line(&initialize(revision).body()).await;
            fixture.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        Self { revision, session: None, is_posting: false, last: 0 }
    }

    /// Its session, over HTTP.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    async fn post(&self, fixture: &UpstreamFixture, body: Value) -> Answer {
        let mut post = message(body);
        if let Some(session) = &self.session {
            post = post.of(session).header("MCP-Protocol-Version", self.revision);
        }
        post.send(fixture.address).await
    }

    /// Sends a request: the text that answers it.
    pub async fn ask(
        &mut self,
        fixture: &mut UpstreamFixture,
        method: &str,
        params: Value,
    ) -> String {
        self.last += 1;
        let id = self.last;
        let mut params = params;
        if self.revision == NEWEST {
            params["_meta"] = meta();
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if !self.is_posting {
            return fixture.line(&body.to_string()).await;
        }
        let mut answer = match self.revision {
            NEWEST => request(method, params).set("/id", json!(id)).send(fixture.address).await,
            _ => self.post(fixture, body).await,
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
    pub async fn call(
        &mut self,
        fixture: &mut UpstreamFixture,
        tool: &str,
    ) -> Result<String, String> {
        let params = json!({"name": tool, "arguments": {}});
        let answer = self.ask(fixture, "tools/call", params).await;
        said(&serde_json::from_str(&answer).expect("an answer is JSON"))
    }
}
