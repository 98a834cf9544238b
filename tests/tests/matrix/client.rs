//! A client pinned to one revision, over HTTP: it says exactly what that revision says, answers
//! every question, and keeps all it hears.

use std::net::SocketAddr;
use std::time::Duration;

use gantry::Revision;
use gantry_tests::http::{Answer, Outgoing};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::answers;

/// How long anything may take before a check has failed.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Rounds of questions in one call; none of the fixtures needs more than two.
const ROUNDS: usize = 4;

/// Where a server is reached over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
}

/// The client.
pub(crate) struct Client {
    target: Target,
    pub(crate) revision: Revision,
    session: Option<String>,
    last: u64,
    heard: mpsc::Receiver<Value>,
    hear: mpsc::Sender<Value>,
    reading: Vec<JoinHandle<()>>,
    /// All notifications, in the order they came.
    pub(crate) notices: Vec<Value>,
    /// All questions that were asked.
    pub(crate) asked: Vec<String>,
}

/// A request under way. Dropping it alone does nothing; see `Client::cancel`.
pub(crate) struct Pending {
    id: u64,
    reading: usize,
}

impl Client {
    /// Connects, with a handshake where the revision has one.
    pub(crate) async fn connect(target: Target, revision: Revision) -> Result<Self, String> {
        let (hear, heard) = mpsc::channel(1024);
        let mut client = Self {
            target,
            revision,
            session: None,
            last: 0,
            heard,
            hear,
            reading: Vec::new(),
            notices: Vec::new(),
            asked: Vec::new(),
        };
        if !revision.is_stateless() {
            client.shake_hands().await?;
        }
        Ok(client)
    }

    async fn shake_hands(&mut self) -> Result<(), String> {
        let params = json!({
            "protocolVersion": self.revision.as_str(),
            "capabilities": answers::capabilities(self.revision),
            "clientInfo": {"name": "matrix", "version": "1"},
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut answer = self.outgoing("POST", &hello).send(self.target.address).await;
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        let status = answer.status;
        let agreed = match answer.is_stream() {
            true => timeout(TIMEOUT, answer.message()).await.ok().flatten().unwrap_or_default(),
            false => serde_json::from_str(&answer.text().await).unwrap_or_default(),
        };
        if agreed["result"]["protocolVersion"] != self.revision.as_str() {
            return Err(format!("the handshake gave {status} {agreed}"));
        }
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.outgoing("POST", &ready).send(self.target.address).await;
        let stream = self.outgoing("GET", &Value::Null);
        // A server need not have such a stream.
        if let Ok(answer) = timeout(TIMEOUT, stream.send(self.target.address)).await
            && answer.status == 200
        {
            self.reading.push(tokio::spawn(read(answer, self.hear.clone())));
        }
        Ok(())
    }

    /// Sends a request and waits for its answer, answering what is asked on the way.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, String> {
        for _ in 0..ROUNDS {
            let pending = self.begin(method, params.clone());
            let answer = self.answer(&pending).await?;
            let result = &answer["result"];
            if result["resultType"] != "input_required" {
                return Ok(answer);
            }
            let questions = result["inputRequests"].as_object().cloned().unwrap_or_default();
            let mut responses = json!({});
            for (key, question) in questions {
                responses[key] = self.reply_to(&question);
            }
            params["inputResponses"] = responses;
            params["requestState"] = result["requestState"].clone();
        }
        Err(format!("`{method}` asks without end"))
    }

    /// Calls a tool: the text of its result, which must be no error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let result = self.call_raw(tool, arguments).await?;
        match result["isError"].as_bool().unwrap_or_default() {
            true => Err(format!("`{tool}` gave the error {result}")),
            false => Ok(text_of(&result)),
        }
    }

    /// Calls a tool: its whole result.
    pub(crate) async fn call_raw(&mut self, tool: &str, given: Value) -> Result<Value, String> {
        let params = json!({"name": tool, "arguments": given});
        result_of(self.ask("tools/call", params).await?)
    }

    /// Sends a request and does not wait.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> Pending {
        self.last += 1;
        let id = self.last;
        params["_meta"]["progressToken"] = json!(id);
        if self.revision.is_stateless() {
            let meta = answers::meta(self.revision);
            params["_meta"].as_object_mut().expect("it was made here").extend(meta);
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let outgoing = self.outgoing("POST", &message);
        let (address, hear) = (self.target.address, self.hear.clone());
        let reading = tokio::spawn(async move { read(outgoing.send(address).await, hear).await });
        self.reading.push(reading);
        Pending { id, reading: self.reading.len() - 1 }
    }

    /// Gives a request up in the way of the revision: it says so, or hangs up.
    pub(crate) async fn cancel(&mut self, pending: &Pending) {
        if self.revision.is_stateless() {
            self.reading[pending.reading].abort();
            return;
        }
        let params = json!({"requestId": pending.id, "reason": "no longer needed"});
        let method = "notifications/cancelled";
        self.tell(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// The answer to a request.
    async fn answer(&mut self, pending: &Pending) -> Result<Value, String> {
        loop {
            let message = self.next().await?;
            if message["id"] == pending.id && message.get("method").is_none() {
                return Ok(message);
            }
            // A request that could not be read is answered without its id.
            let nameless = message.get("error").is_some() && !message["id"].is_number();
            if message.get("refused").is_some() || nameless {
                return Err(message.to_string());
            }
        }
    }

    /// The first notification of a method after the first `since` ones.
    pub(crate) async fn hear(&mut self, method: &str, since: usize) -> Result<Value, String> {
        loop {
            let fresh = self.notices.get(since..).unwrap_or_default();
            if let Some(found) = fresh.iter().find(|notice| notice["method"] == method) {
                return Ok(found.clone());
            }
            self.next().await.map_err(|error| format!("no `{method}`: {error}"))?;
        }
    }

    /// The next message. Notifications are kept, questions answered.
    async fn next(&mut self) -> Result<Value, String> {
        let message = timeout(TIMEOUT, self.heard.recv()).await;
        let message = message.ok().flatten().ok_or("nothing came in time")?;
        if message.get("method").is_some() {
            match message.get("id") {
                None => self.notices.push(message.clone()),
                Some(id) => {
                    let result = self.reply_to(&message);
                    self.tell(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
                }
            }
        }
        Ok(message)
    }

    fn reply_to(&mut self, question: &Value) -> Value {
        let method = question["method"].as_str().unwrap_or_default();
        self.asked.push(method.to_owned());
        answers::to(method, &question["params"])
    }

    /// Sends a message that has no answer.
    async fn tell(&self, message: &Value) {
        self.outgoing("POST", message).send(self.target.address).await;
    }

    /// Ends the session.
    pub(crate) async fn close(self) {
        if self.session.is_some() {
            self.outgoing("DELETE", &Value::Null).send(self.target.address).await;
        }
    }

    fn outgoing(&self, http_method: &str, message: &Value) -> Outgoing {
        let accept = match http_method {
            "GET" => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let mut headers = vec![
            ("Host".to_owned(), self.target.address.to_string()),
            ("Accept".to_owned(), accept.to_owned()),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(answers::headers(self.revision, self.session.as_deref(), message));
        let body = if message.is_null() { Vec::new() } else { message.to_string().into_bytes() };
        Outgoing { method: http_method.to_owned(), path: self.target.path.clone(), headers, body }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.reading.iter().for_each(JoinHandle::abort);
    }
}

/// Passes on every message of an answer. One that is none is passed on as refused.
async fn read(mut answer: Answer, hear: mpsc::Sender<Value>) {
    if answer.is_stream() {
        while let Some(message) = answer.message().await {
            hear.send(message).await.ok();
        }
        return;
    }
    let status = answer.status;
    let text = answer.text().await;
    match serde_json::from_str::<Value>(&text) {
        Ok(message) if message.get("jsonrpc").is_some() => drop(hear.send(message).await),
        _ if status == 202 => {}
        _ => drop(hear.send(json!({"refused": status, "text": text})).await),
    }
}

/// The result of an answer, which must be no error.
pub(crate) fn result_of(mut answer: Value) -> Result<Value, String> {
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(format!("an error: {answer}")),
    }
}

/// The text of a tool's result.
pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
