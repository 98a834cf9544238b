//! Requests over HTTP as a table of checks writes them: right in every way until a test says how
//! they are wrong.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use crate::checks::HttpExchange;
use crate::http::{Answer, Outgoing};

/// The newest revision.
pub const NEWEST: &str = "2026-07-28";
/// The prefix of the protocol's own `_meta` keys.
pub const PREFIX: &str = "io.modelcontextprotocol/";

/// A request that stands alone, or one of a session.
#[derive(Debug, Clone)]
pub struct Request {
    body: Body,
    http_method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
enum Body {
    Json(Value),
    Text(String),
    Nothing,
}

/// A request of the newest revision that lacks nothing.
pub fn request(method: &str, params: Value) -> Request {
    let mut params = params;
    params["_meta"] = meta();
    let name = ["name", "uri", "taskId"].into_iter().find_map(|member| params.get(member));
    let name = name.and_then(Value::as_str).map(str::to_owned);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::new("POST", Body::Json(body))
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", method);
    match (name, method) {
        (
            Some(name),
            "tools/call" | "prompts/get" | "resources/read" | "tasks/get" | "tasks/update"
            | "tasks/cancel",
        ) => request.header("Mcp-Name", &name),
        _ => request,
    }
}

/// A call of a tool in the newest revision.
#[expect(clippy::needless_pass_by_value, reason = "cases write their arguments in place")]
pub fn call(tool: &str, arguments: Value) -> Request {
    request("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A list of tools in the newest revision.
pub fn list() -> Request {
    request("tools/list", json!({}))
}

/// A message of a session, or the one that opens it.
pub fn message(body: Value) -> Request {
    Request::new("POST", Body::Json(body))
}

/// A POST of any text.
pub fn text(body: &str) -> Request {
    Request::new("POST", Body::Text(body.to_owned()))
}

/// A request without body.
pub fn bodiless(http_method: &'static str) -> Request {
    Request::new(http_method, Body::Nothing).replace("Accept", "text/event-stream")
}

/// `initialize` for a revision, from a client that can answer everything.
pub fn initialize(revision: &str) -> Request {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    message(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
}

/// What every request of the newest revision says of itself.
pub fn meta() -> Value {
    json!({
        (format!("{PREFIX}protocolVersion")): NEWEST,
        (format!("{PREFIX}clientCapabilities")): {},
        (format!("{PREFIX}clientInfo")): {"name": "test", "version": "1"},
    })
}

impl Request {
    fn new(http_method: &'static str, body: Body) -> Self {
        let (path, headers) = ("/mcp".to_owned(), Vec::new());
        let request = Self { body, http_method, path, headers };
        request
            .header("Host", "127.0.0.1")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
    }

    /// Goes to another path than the main endpoint.
    pub fn to(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a header out.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self
    }

    /// Gives a header another value.
    pub fn replace(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    /// Sets a member of the message, by JSON pointer. Null takes it out.
    pub fn set(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        if let Body::Json(body) = &mut self.body
            && let Some(members) = body.pointer_mut(parent).and_then(Value::as_object_mut)
        {
            put(members, &key.replace("~1", "/"), value);
        }
        self
    }

    /// Sets one of the protocol's own `_meta` keys. Null takes it out.
    pub fn meta(self, key: &str, value: Value) -> Self {
        self.set(&format!("/params/_meta/{}{key}", PREFIX.replace('/', "~1")), value)
    }

    /// Declares what the client can do.
    pub fn can(self, capabilities: Value) -> Self {
        self.meta("clientCapabilities", capabilities)
    }

    /// Says that it comes from an older or unknown revision, in header and body.
    pub fn revision(self, revision: &str) -> Self {
        self.meta("protocolVersion", json!(revision)).replace("MCP-Protocol-Version", revision)
    }

    /// Belongs to a session.
    pub fn of(self, session: &str) -> Self {
        self.header("Mcp-Session-Id", session)
    }

    /// Comes from who holds a token.
    pub fn by(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// What is expected: an answer with this status.
    pub fn gives(self, status: u16) -> HttpExchange {
        HttpExchange::new(self, status)
    }

    /// What is expected: a status and the code of a JSON-RPC error.
    pub fn fails(self, status: u16, code: i64) -> HttpExchange {
        self.gives(status).at("/error/code", json!(code))
    }

    /// The message alone, for a door that has no headers.
    pub fn body(&self) -> String {
        match &self.body {
            Body::Json(body) => body.to_string(),
            Body::Text(text) => text.clone(),
            Body::Nothing => String::new(),
        }
    }

    /// Sends it.
    pub async fn send(&self, address: SocketAddr) -> Answer {
        let outgoing = Outgoing {
            method: self.http_method.to_owned(),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body().into_bytes(),
        };
        outgoing.send(address).await
    }

    /// Sends it and reads the one message that answers it.
    pub async fn ask(&self, address: SocketAddr) -> Value {
        let mut messages = self.send(address).await.messages().await;
        messages.pop().expect("a request has an answer")
    }
}

fn put(members: &mut Map<String, Value>, key: &str, value: Value) {
    match value {
        Value::Null => drop(members.remove(key)),
        value => drop(members.insert(key.to_owned(), value)),
    }
}
