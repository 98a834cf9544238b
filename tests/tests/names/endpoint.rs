//! The endpoints through which one tool of one server can be called.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use gantry_tests::request::{Request, call, initialize, message, request, text};
use gantry_tests::test_server::soon;
use gantry_tests::transport::ClientTransport;
use gantry_tests::upstream_fixture::{UpstreamFixture, said};
use serde_json::{Value, json};

use crate::{CANONICAL, CONTRACT, SHOWN};

/// The ids of requests on standard input, of which no two are alike.
static LAST_ID: AtomicU64 = AtomicU64::new(1);

/// What the server itself calls the tool.
const OWN: &str = "table.drop";

/// What clients see at the server's own endpoint.
const OWN_SHOWN: &str = "table_drop";

/// A way to call the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/mcp`, by its name in the aggregate list.
    Main,
    /// `/mcp`, by its canonical name, which has a dot.
    MainCanonical,
    /// `/mcp/db`, by the name that clients see there.
    AloneShown,
    /// `/mcp/db`, by the server's own name.
    Alone,
    /// `/mcp/db` in a session of an older revision.
    Session,
    /// `/mcp/work`, a profile.
    Profile,
    /// `/call`.
    Contract,
    /// `/call`, by the names of server and tool.
    ContractOfServer,
    /// A batch at `/mcp`.
    Batch,
    /// A batch at `/mcp/db`.
    BatchAlone,
    /// HTTP+SSE.
    Sse,
    /// Standard input and output.
    Stdio,
}

impl Endpoint {
    /// All of them.
    pub(crate) const ALL: [Self; 12] = [
        Self::Main,
        Self::MainCanonical,
        Self::AloneShown,
        Self::Alone,
        Self::Session,
        Self::Profile,
        Self::Contract,
        Self::ContractOfServer,
        Self::Batch,
        Self::BatchAlone,
        Self::Sse,
        Self::Stdio,
    ];

    /// Those that ask for a token.
    pub(crate) const HTTP: [Self; 10] = [
        Self::Main,
        Self::MainCanonical,
        Self::AloneShown,
        Self::Alone,
        Self::Session,
        Self::Profile,
        Self::Contract,
        Self::ContractOfServer,
        Self::Batch,
        Self::BatchAlone,
    ];

    /// What the endpoint calls it, where that does not follow from the canonical name.
    pub(crate) fn requested(self) -> Option<&'static str> {
        let is_alone =
            matches!(self, Self::Alone | Self::AloneShown | Self::Session | Self::BatchAlone);
        is_alone.then_some(OWN_SHOWN)
    }

    /// Calls the tool without arguments: the text of its result, or of the refusal.
    pub(crate) async fn call(self, fixture: &mut UpstreamFixture) -> Result<String, String> {
        self.call_with(fixture, json!({})).await
    }

    pub(crate) async fn call_with(
        self,
        fixture: &mut UpstreamFixture,
        args: Value,
    ) -> Result<String, String> {
        self.run(fixture, args, |request| request).await
    }

    /// The same with a token.
    pub(crate) async fn call_by(
        self,
        fixture: &mut UpstreamFixture,
        token: &str,
    ) -> Result<String, String> {
        self.run(fixture, json!({}), |request| request.by(token)).await
    }

    async fn run(
        self,
        fixture: &mut UpstreamFixture,
        args: Value,
        sign: impl Fn(Request) -> Request,
    ) -> Result<String, String> {
        let address = fixture.address;
        let ask = async |it: Request| sign(it).ask(address).await;
        match self {
            Self::Main => said(&ask(call(SHOWN, args)).await),
            Self::MainCanonical => said(&ask(call(CANONICAL, args)).await),
            Self::AloneShown => said(&ask(call(OWN_SHOWN, args).to("/mcp/db")).await),
            Self::Alone => said(&ask(call(OWN, args).to("/mcp/db")).await),
            Self::Profile => said(&ask(call(SHOWN, args).to("/mcp/work")).await),
            Self::Session => {
                let greeting = sign(initialize("2025-06-18").to("/mcp/db"));
                let mut greeting = greeting.send(address).await;
                let session = greeting.header("mcp-session-id").expect("a session").to_owned();
                greeting.messages().await;
                let params = json!({"name": OWN, "arguments": args});
                let body =
                    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                said(&ask(message(body).to("/mcp/db").of(&session)).await)
            }
            Self::Contract | Self::ContractOfServer => {
                let name = if self == Self::Contract { CANONICAL } else { CONTRACT };
                let body = json!({"tool_name": name, "arguments": args}).to_string();
                let answer = ask(text(&body).to("/call")).await;
                match answer["status"] == "success" {
                    true => Ok(answer.to_string()),
                    false => Err(answer.to_string()),
                }
            }
            Self::Batch => in_batch(&ask(batch(CANONICAL, args)).await),
            Self::BatchAlone => in_batch(&ask(batch(OWN, args).to("/mcp/db")).await),
            Self::Sse => said(&over_sse(address, args).await),
            Self::Stdio => said(&over_stdio(fixture, call(SHOWN, args)).await),
        }
    }
}

/// Whether the gateway knows the tool by now, as the local user on standard input sees it. What a rule
/// hides is in no list, but a call is told of the rule.
pub(crate) async fn is_known(fixture: &mut UpstreamFixture, is_hidden: bool) -> bool {
    match is_hidden {
        false => {
            over_stdio(fixture, request("tools/list", json!({}))).await.to_string().contains(SHOWN)
        }
        true => match Endpoint::Stdio.call(fixture).await {
            Ok(_) => true,
            Err(text) => !text.contains("no tool"),
        },
    }
}

async fn over_stdio(fixture: &mut UpstreamFixture, request: Request) -> Value {
    let id = LAST_ID.fetch_add(1, Ordering::Relaxed);
    let line = fixture.line(&request.set("/id", json!(id)).body()).await;
    serde_json::from_str(&line).expect("JSON")
}

async fn over_sse(address: SocketAddr, args: Value) -> Value {
    let mut transport = ClientTransport::sse(address).await;
    let greeting = json!({"protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "sse", "version": "0"}});
    let params = json!({"name": SHOWN, "arguments": args});
    for (id, method, params) in [(0, "initialize", greeting), (1, "tools/call", params)] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        transport.send(request.to_string()).await;
        let answer = async {
            loop {
                let heard = transport.receive().await.expect("the stream goes on");
                if heard["id"] == id && heard.get("method").is_none() {
                    break heard;
                }
            }
        };
        let answer = soon("an answer", answer).await;
        if method == "tools/call" {
            return answer;
        }
    }
    Value::Null
}

#[expect(clippy::needless_pass_by_value, reason = "it is written in place")]
fn batch(tool: &str, args: Value) -> Request {
    let calls = json!([{"id": "a", "name": tool, "arguments": args}]);
    request("gantry/batch", json!({"calls": calls}))
}

/// What became of the only call of a batch.
fn in_batch(answer: &Value) -> Result<String, String> {
    let text = answer.to_string();
    match text.contains("\"error\"") || text.contains("\"isError\":true") {
        true => Err(text),
        false => Ok(text),
    }
}
