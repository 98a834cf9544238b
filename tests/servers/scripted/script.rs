//! What the server says to each message, whichever way messages come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use gantry_tests::payloads;
use serde_json::{Value, json};

use crate::conduct::Conduct;
use crate::lists;

/// A line longer than any gateway should hold.
const FLOOD: usize = 100 * 1024 * 1024;

/// More than anybody wants to hear.
const CHATTER: usize = 50_000;

/// The variable and the header that hold what is nobody's business.
const SECRET: &str = "SCRIPTED_SECRET";

/// One thing to do about a message.
#[derive(Debug)]
pub(crate) enum Act {
    /// Say this.
    Say(String),
    /// Fill standard error.
    Shout,
    /// End the process.
    Die,
}

/// What the server has been told to do, and what has happened so far.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) conduct: Conduct,
    is_modern: bool,
    calls: AtomicU64,
    /// Answers that came to questions of its own.
    answers: AtomicU64,
    /// Requests over HTTP, for the conduct that recounts them.
    requests: Mutex<Vec<String>>,
}

impl Script {
    pub(crate) fn new(conduct: Conduct, is_modern: bool) -> Self {
        let (calls, answers) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { conduct, is_modern, calls, answers, requests: Mutex::default() }
    }

    /// Remembers a request, if it is to be recounted.
    pub(crate) fn note(&self, request: String) {
        if self.conduct == Conduct::Recounts {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        }
    }

    /// What to do about a message. `secret` is what came with it, beside the environment.
    pub(crate) fn hear(&self, message: &Value, secret: Option<&str>) -> Vec<Act> {
        let Some(id) = message.get("id") else { return Vec::new() };
        let params = &message["params"];
        let result = match message["method"].as_str() {
            _ if self.conduct == Conduct::Mute => return Vec::new(),
            None => {
                self.answers.fetch_add(1, Ordering::Relaxed);
                return Vec::new();
            }
            Some("initialize") if !self.is_modern => match self.conduct {
                Conduct::TellsGreeting => return vec![failure(id, &told(secret))],
                _ => self.greet(params).to_string(),
            },
            Some("server/discover") if self.is_modern => self.discover().to_string(),
            Some("ping") => "{}".to_owned(),
            Some("tools/list") => return self.list(id),
            Some("tools/call") => return self.call(id, params, secret),
            Some("resources/list") => lists::resources().to_owned(),
            Some("resources/templates/list") => lists::templates().to_owned(),
            Some("resources/read") if self.conduct == Conduct::Contract => {
                let read = json!([{"uri": params["uri"], "text": params["uri"]}]);
                json!({"contents": read, "ttlMs": 0, "cacheScope": "private"}).to_string()
            }
            Some("resources/read") => payloads::READ.to_owned(),
            Some("prompts/list") => lists::prompts().to_owned(),
            Some("prompts/get") => payloads::PROMPT.to_owned(),
            Some(method) => return vec![unknown(id, method)],
        };
        vec![self.result(id, &result)]
    }

    fn capabilities(&self) -> Value {
        match self.conduct {
            Conduct::Bytes => json!({"tools": {}, "resources": {}, "prompts": {},
                "extensions": {"io.modelcontextprotocol/tasks": {}}}),
            Conduct::Contract => json!({"tools": {}, "resources": {}}),
            _ => json!({"tools": {"listChanged": true}}),
        }
    }

    fn greet(&self, params: &Value) -> Value {
        let version = match self.conduct {
            Conduct::Strange => json!("2099-01-01"),
            _ => params["protocolVersion"].clone(),
        };
        json!({"protocolVersion": version, "capabilities": self.capabilities(),
            "serverInfo": {"name": "scripted", "version": "1"}})
    }

    fn discover(&self) -> Value {
        let version = match self.conduct {
            Conduct::Strange => "2099-01-01",
            _ => "2026-07-28",
        };
        json!({"supportedVersions": [version], "capabilities": self.capabilities(), "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1"}}})
    }

    fn list(&self, id: &Value) -> Vec<Act> {
        if self.conduct == Conduct::Unlisted {
            return Vec::new();
        }
        let grown = self.conduct == Conduct::Changes && self.calls.load(Ordering::Relaxed) > 0;
        let mut acts = Vec::new();
        if self.conduct == Conduct::Asks {
            let question = json!({"message": "Who are you?", "requestedSchema": {"type": "object",
                "properties": {}}});
            acts.extend([
                ask("e1", "elicitation/create", &question),
                ask("s1", "sampling/createMessage", &json!({"messages": [], "maxTokens": 1})),
                ask("x1", "vendor/unheard-of", &json!({})),
            ]);
        }
        acts.push(self.result(id, &lists::tools(self.conduct, grown)));
        acts
    }

    fn call(&self, id: &Value, params: &Value, secret: Option<&str>) -> Vec<Act> {
        let say = |text: &str| {
            let result = json!({"content": [{"type": "text", "text": text}]});
            self.result(id, &result.to_string())
        };
        match params["name"].as_str() {
            Some("who") => return vec![say(&std::process::id().to_string())],
            Some("answers") => {
                return vec![say(&self.answers.load(Ordering::Relaxed).to_string())];
            }
            Some("odd") => {}
            Some("table.drop") => return vec![say(&params["arguments"].to_string())],
            Some("well" | "grown") => return vec![say("well")],
            _ => return vec![unknown(id, "that tool")],
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        match self.conduct {
            Conduct::Mute | Conduct::Silent => Vec::new(),
            Conduct::Bytes if params["arguments"]["fail"] == true => {
                vec![Act::Say(envelope(id, "error", payloads::ERROR))]
            }
            Conduct::Bytes => vec![self.result(id, payloads::CALL)],
            Conduct::Twice => vec![say("once"), say("twice")],
            Conduct::Strangers => {
                let strangers = [json!(4_000_000), json!("nobody"), Value::Null, json!(-1)];
                let answer = |id: &Value| Act::Say(envelope(id, "result", "{}"));
                strangers.iter().map(answer).chain([say("well")]).collect()
            }
            Conduct::Garbage => {
                let garbage = ["", "Listening on port 80", "{\"jsonrpc\":", "[]", "null", "\u{0}"];
                let said = garbage.map(|text| Act::Say(text.to_owned()));
                said.into_iter().chain([say("well")]).collect()
            }
            Conduct::Chatter => {
                let notices = [
                    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
                    json!({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": "nobody", "progress": 1}}),
                    json!({"jsonrpc": "2.0", "method": "notifications/message",
                        "params": {"level": "error", "data": "chatter"}}),
                    json!({"jsonrpc": "2.0", "method": "notifications/unheard-of"}),
                ];
                let said = notices.iter().cycle().map(|notice| Act::Say(notice.to_string()));
                said.take(CHATTER).chain([say("well")]).collect()
            }
            Conduct::Shouts => vec![Act::Shout, say("well")],
            Conduct::Hollow => {
                vec![Act::Say(json!({"jsonrpc": "2.0", "id": id}).to_string())]
            }
            Conduct::Flood => vec![say(&"x".repeat(FLOOD))],
            Conduct::Changes => {
                let changed =
                    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                vec![Act::Say(changed.to_string()), say("well")]
            }
            Conduct::Dies => vec![Act::Die],
            Conduct::Recounts => {
                let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
                vec![say(&json!(*requests).to_string())]
            }
            Conduct::Tells => vec![failure(id, &told(secret))],
            Conduct::TellsResult => {
                let result = json!({"content": [{"type": "text", "text": told(secret)}],
                    "structuredContent": {"why": told(secret)}, "isError": true});
                vec![self.result(id, &result.to_string())]
            }
            _ => vec![say(&format!("well {number}"))],
        }
    }

    fn result(&self, id: &Value, result: &str) -> Act {
        let members = result.strip_prefix('{').expect("a result is an object");
        let result = match self.is_modern && !result.contains("\"resultType\"") {
            true if members == "}" => "{\"resultType\":\"complete\"}".to_owned(),
            true => format!("{{\"resultType\":\"complete\",{members}"),
            false => result.to_owned(),
        };
        Act::Say(envelope(id, "result", &result))
    }
}

fn envelope(id: &Value, member: &str, value: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":{value}}}")
}

fn ask(id: &str, method: &str, params: &Value) -> Act {
    Act::Say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
}

fn failure(id: &Value, text: &str) -> Act {
    let error = json!({"code": -32603, "message": text, "data": {"more": text}});
    Act::Say(envelope(id, "error", &error.to_string()))
}

fn unknown(id: &Value, what: &str) -> Act {
    let error = json!({"code": -32601, "message": format!("{what} is not known here")});
    Act::Say(envelope(id, "error", &error.to_string()))
}

/// What it was configured with, in a sentence.
fn told(secret: Option<&str>) -> String {
    let variable = std::env::var(SECRET).unwrap_or_default();
    format!("refused: the key {variable}{} is not valid", secret.unwrap_or_default())
}
