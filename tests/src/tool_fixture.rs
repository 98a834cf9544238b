//! The real binary over a folder of tools of its own, spoken to over stdio, with HTTP beside it.

mod folder;

use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot;

use crate::http::Outgoing;
use crate::processes;
use crate::temp_folder::{command, program};
use crate::test_server::soon;
pub use folder::{Folder, description};

/// A gateway over a folder. Dropping it kills the gateway, then whatever runs from the folder.
#[derive(Debug)]
pub struct ToolFixture {
    /// Where it listens for HTTP.
    pub address: SocketAddr,
    gateway: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    log: Arc<Mutex<String>>,
    last: u64,
    /// The folder; the last field, so that it goes after the gateway.
    pub folder: Folder,
}

impl ToolFixture {
    /// Starts the gateway and shakes hands.
    pub async fn open(folder: Folder) -> Self {
        let gateway = start(&folder);
        let mut tool_fixture = Self::over(gateway, folder).await;
        tool_fixture.shake_hands().await;
        tool_fixture
    }

    /// Ends the gateway in good order, and starts it again over the same folder and state.
    pub async fn restart(&mut self) {
        self.signal(Signal::TERM);
        self.hang_up();
        self.end().await;
        let folder = std::mem::replace(&mut self.folder, Folder::new());
        let gateway = start(&folder);
        *self = Self::over(gateway, folder).await;
        self.shake_hands().await;
    }

    async fn over(mut gateway: Child, folder: Folder) -> Self {
        let input = gateway.stdin.take();
        let output = BufReader::new(gateway.stdout.take().expect("its output")).lines();
        let (log, address) = listen(gateway.stderr.take().expect("its log"));
        let address = soon("the address", address).await.expect("it says where it listens");
        Self { address, gateway, input, output, log, last: 0, folder }
    }

    async fn shake_hands(&mut self) {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "foundry", "version": "0"}});
        self.ask("initialize", hello).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// The number of the gateway's process.
    pub fn id(&self) -> u32 {
        self.gateway.id().expect("the gateway runs")
    }

    /// What the gateway has written to standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    /// The next message.
    pub async fn receive(&mut self) -> Value {
        let line = soon("a message", self.output.next_line()).await.expect("text");
        serde_json::from_str(&line.expect("the gateway goes on")).expect("every line is JSON")
    }

    /// Sends a request, and gives its id.
    pub async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Begins a call of a tool.
    pub async fn begin_call(&mut self, name: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// Waits for the answer to a request. Whatever else comes is passed over.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Waits for a notification. Whatever else comes is passed over.
    pub async fn hear(&mut self, method: &str) -> Value {
        loop {
            let message = self.receive().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Sends a request and waits for the answer.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool and waits for its result.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin_call(name, arguments).await;
        self.answer(id).await["result"].take()
    }

    /// Calls a tool that must fail, and gives the text that says why.
    pub async fn failure(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert_eq!(result["isError"], true, "{name} fails: {result}");
        result["content"][0]["text"].as_str().expect("a failure has a text").to_owned()
    }

    /// Calls a tool over `/call`: the HTTP status and the tool result.
    pub async fn contract(&self, name: &str, arguments: Value) -> (u16, Value) {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let outgoing = Outgoing {
            method: "POST".to_owned(),
            path: "/call".to_owned(),
            headers: vec![header("Host", "127.0.0.1"), header("Content-Type", "application/json")],
            body: json!({"tool_name": name, "arguments": arguments}).to_string().into_bytes(),
        };
        let mut answer = outgoing.send(self.address).await;
        let text = answer.text().await;
        (answer.status, serde_json::from_str(&text).expect("the answer is JSON"))
    }

    /// The names of the tools, sorted.
    pub async fn names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().expect("a list of tools");
        let name = |tool: &Value| tool["name"].as_str().expect("a tool has a name").to_owned();
        let mut names: Vec<_> = tools.iter().map(name).collect();
        names.sort();
        names
    }

    /// Hangs up on its standard input.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Sends the gateway a signal.
    pub fn signal(&self, signal: Signal) {
        processes::signal(self.id(), signal);
    }

    /// Waits for the end of the gateway.
    pub async fn end(&mut self) -> ExitStatus {
        soon("the end of the gateway", self.gateway.wait()).await.expect("a status")
    }
}

impl Drop for ToolFixture {
    fn drop(&mut self) {
        let _ = self.gateway.start_kill();
    }
}

fn start(folder: &Folder) -> Child {
    command(program())
        .args(["serve", "--stdio", "--listen", "127.0.0.1:0", "--tools"])
        .arg(folder.tools(""))
        .env("XDG_STATE_HOME", folder.path())
        .env("GANTRY_AUTH", "none")
        .env("FOUNDRY_SECRET", "for the gateway alone")
        .env_remove("GANTRY_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the gateway starts")
}

/// Gathers the log for as long as there is one, and tells the address that it names.
pub fn listen(log: ChildStderr) -> (Arc<Mutex<String>>, oneshot::Receiver<SocketAddr>) {
    let gathered = Arc::new(Mutex::new(String::new()));
    let (tell, address) = oneshot::channel();
    let (mut tell, into) = (Some(tell), gathered.clone());
    tokio::spawn(async move {
        let mut lines = BufReader::new(log).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let named = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
            into.lock().expect("nobody panics with it").push_str(&format!("{line}\n"));
            if let Some(address) = named.and_then(|(address, _)| address.parse().ok())
                && let Some(tell) = tell.take()
            {
                let _ = tell.send(address);
            }
        }
    });
    (gathered, address)
}
