//! Holding a conversation again as a transcript has it, and noting where it goes another way.

use serde_json::Value;

use super::{Line, Transcript};
use crate::matching::Captures;
use crate::test_server::TestServer;
use crate::transport::ClientTransport;

/// A conversation held again.
#[derive(Debug, Default)]
pub struct Replay {
    /// What was said, in order.
    pub spoken: Vec<Spoken>,
    /// Where something else was heard than is written.
    pub differences: Vec<String>,
    names: Captures,
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Spoken {
    /// By the client; any text.
    Client(String),
    /// By the server.
    Server(Value),
}

impl Transcript {
    /// Holds the conversation again, with a server of its own.
    pub async fn replay(&self) -> Replay {
        let test_server = TestServer::open().await;
        let transport = self.name().get("0000-00-00-".len()..).unwrap_or("link");
        let mut transport = ClientTransport::open(&test_server, transport).await;
        let mut replay = Replay::default();
        for (number, line) in &self.lines {
            let place = format!("{}:{number}", self.path.display());
            match line {
                Line::Says(text) => replay.say(&mut transport, text).await,
                Line::Hears(expected) => replay.hear(&mut transport, &place, vec![expected]).await,
                Line::HearsAmong(group) => {
                    replay.hear(&mut transport, &place, group.iter().collect()).await;
                }
                Line::Ends => {
                    if let Some(got) = transport.receive().await {
                        replay.differ(&place, "the end of the connection", &got);
                    }
                }
            }
        }
        replay
    }
}

impl Replay {
    async fn say(&mut self, transport: &mut ClientTransport, text: &str) {
        let text = self.names.fill(text);
        self.spoken.push(Spoken::Client(text.clone()));
        transport.send(text).await;
    }

    /// Hears as many messages as are expected, in any order.
    async fn hear(
        &mut self,
        transport: &mut ClientTransport,
        place: &str,
        mut expected: Vec<&Value>,
    ) {
        while let Some(first) = expected.first() {
            let got = transport.receive().await;
            let got = got.unwrap_or_else(|| panic!("{place}: the connection ended"));
            let fitting = expected.iter().position(|it| self.names.fits(it, &got));
            if fitting.is_none() {
                self.differ(place, &first.to_string(), &got);
            }
            expected.remove(fitting.unwrap_or(0));
            self.spoken.push(Spoken::Server(got));
        }
    }

    fn differ(&mut self, place: &str, expected: &str, got: &Value) {
        self.differences.push(format!("{place}: expected\n{expected}\nbut heard\n{got}"));
    }
}
