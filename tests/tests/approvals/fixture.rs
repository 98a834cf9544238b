//! A gateway with one tool that destroys something and one of a server that does not say, and
//! everything a person needs to answer.

use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use gantry_tests::http::Outgoing;
use gantry_tests::processes;
use gantry_tests::request::{Request, call, list};
use gantry_tests::temp_folder::{Bench, command, program};
use gantry_tests::test_server::soon;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

/// The tool that destroys something.
pub(crate) const TOOL: &str = "file.wipe";

/// A gateway that asks before it destroys. Dropping it kills it.
pub(crate) struct ApprovalFixture {
    pub(crate) bench: Bench,
    pub(crate) address: SocketAddr,
    gateway: Child,
    stdio: Option<(ChildStdin, Lines<BufReader<ChildStdout>>)>,
    log: Arc<Mutex<String>>,
}

impl ApprovalFixture {
    /// A gateway with this policy, at which everyone is the local user.
    pub(crate) async fn open(name: &str, policy: Value) -> Self {
        Self::open_as(name, policy, &["--auth", "none"]).await
    }

    /// The same, with a client on standard input and output.
    pub(crate) async fn open_stdio(name: &str, policy: Value) -> Self {
        Self::open_as(name, policy, &["--auth", "none", "--stdio"]).await
    }

    /// The same, whose callers show tokens.
    pub(crate) async fn open_with_tokens(name: &str, policy: Value) -> Self {
        Self::open_as(name, policy, &["--auth", "token"]).await
    }

    async fn open_as(name: &str, policy: Value, options: &[&str]) -> Self {
        let bench = Bench::new(&format!("approvals-{name}"));
        bench.write("tools/wipe.sh", "echo run >> ../runs\necho '{\"wiped\": true}'\n");
        let manifest = json!({
            "name": TOOL, "version": "1.0.0", "description": "Wipes the file that is named.",
            "command": ["sh", "./wipe.sh"], "annotations": {"destructiveHint": true}, "task": true,
            "inputSchema": {"type": "object", "properties": {
                "path": {"type": "string", "description": "Which file."},
                "token": {"type": "string", "description": "The right to do it."},
            }},
            "outputSchema": {"type": "object", "properties": {
                "wiped": {"type": "boolean", "description": "Whether it is gone."},
            }},
        });
        bench.write("tools/wipe.tool.json", &manifest.to_string());
        let fixture = Self::start(bench, policy, options).await;
        fixture.until_listed().await;
        fixture
    }

    async fn start(bench: Bench, policy: Value, options: &[&str]) -> Self {
        configure(&bench, &policy);
        let mut gateway = command(program())
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(bench.folder.join("gantry.json"))
            .args(options)
            .current_dir(&bench.folder)
            .env("XDG_STATE_HOME", &bench.folder)
            .env_remove("GANTRY_LISTEN")
            .env_remove("GANTRY_LOG")
            .env_remove("GANTRY_TRUST")
            .env_remove("GANTRY_AUTH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the gateway starts");
        let (input, output) = (gateway.stdin.take(), gateway.stdout.take());
        let stdio = input.zip(output.map(|it| BufReader::new(it).lines()));
        let mut lines = BufReader::new(gateway.stderr.take().expect("its log")).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let line = soon("a line", lines.next_line()).await.expect("text").expect("it runs");
            let found = line.split_whitespace().find_map(|it| it.strip_prefix("http://"));
            if let Some(address) = found.and_then(|it| it.strip_suffix("/mcp")?.parse().ok()) {
                break address;
            }
        };
        let kept = log.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                kept.lock().expect("nobody panics with it").push_str(&(line + "\n"));
            }
        });
        Self { bench, address, gateway, stdio, log }
    }

    /// Ends the gateway in good order, and starts another with the same state.
    pub(crate) async fn reopen(mut self, policy: Value) -> Self {
        processes::signal(self.gateway.id().expect("it runs"), Signal::TERM);
        let status = soon("its end", self.gateway.wait()).await.expect("a status");
        assert!(status.success(), "{status}: {}", self.log());
        let folder = std::mem::take(&mut self.bench.folder);
        drop(self);
        let fixture = Self::start(Bench { folder }, policy, &["--auth", "none"]).await;
        fixture.until_listed().await;
        fixture
    }

    async fn until_listed(&self) {
        let listed = async {
            loop {
                let all = self.own(list()).ask(self.address).await;
                if all.to_string().contains(&TOOL.replace('.', "_")) {
                    return;
                }
            }
        };
        soon("the tool", listed).await;
    }

    pub(crate) fn configure(&self, policy: &Value) {
        configure(&self.bench, policy);
    }

    /// How often the tool ran.
    pub(crate) fn runs(&self) -> usize {
        fs::read_to_string(self.bench.folder.join("runs")).unwrap_or_default().lines().count()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    pub(crate) fn token(&self) -> String {
        fs::read_to_string(self.bench.folder.join("gantry/admin-token")).expect("a token")
    }

    /// The token of the first start; none where callers show none.
    fn client_token(&self) -> String {
        fs::read_to_string(self.bench.folder.join("gantry/client-token")).unwrap_or_default()
    }

    /// The request of the local user, with their token where there is one.
    pub(crate) fn own(&self, request: Request) -> Request {
        match self.client_token() {
            token if token.is_empty() => request,
            token => request.by(&token),
        }
    }

    /// Makes a token.
    pub(crate) async fn make_token(&self, name: &str, role: &str) -> String {
        let wanted = json!({"name": name, "role": role});
        let (status, made) = self.admin("POST", "/api/tokens", &wanted).await;
        assert_eq!((status, &made["role"]), (201, &json!(role)), "{made}");
        made["token"].as_str().expect("a token").to_owned()
    }

    /// Sends a message on standard input, and reads messages until one answers it.
    pub(crate) async fn ask_on_stdio(&mut self, message: &Value) -> Value {
        let (input, output) = self.stdio.as_mut().expect("pipes");
        let line = format!("{message}\n");
        soon("the input", input.write_all(line.as_bytes())).await.expect("it is read");
        loop {
            let line = soon("an answer", output.next_line()).await.expect("text").expect("a line");
            let heard: Value = serde_json::from_str(&line).expect("JSON");
            if heard["id"] == message["id"] && heard.get("method").is_none() {
                return heard;
            }
        }
    }

    /// The open approvals of calls with this path, if there are any.
    pub(crate) async fn open_for(&self, path: &str) -> Vec<Value> {
        let (_, all) = self.admin("GET", "/api/approvals", &Value::Null).await;
        let mut open = all["pending"].as_array().expect("a list").clone();
        open.retain(|it| it["arguments"]["path"] == path);
        open
    }

    /// Asks the administration: the status and the JSON of its answer.
    pub(crate) async fn admin(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.admin_as(&self.token(), method, path, body).await
    }

    /// The same with another token.
    pub(crate) async fn admin_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let headers = vec![
            ("Host".to_owned(), self.address.to_string()),
            ("Authorization".to_owned(), format!("Bearer {token}")),
        ];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut answer = Outgoing { method, path, headers, body }.send(self.address).await;
        let text = answer.text().await;
        (answer.status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Waits until a call waits, and tells what is shown of it.
    pub(crate) async fn pending(&self) -> Value {
        let waits = async {
            loop {
                let (_, all) = self.admin("GET", "/api/approvals", &Value::Null).await;
                if let Some(first) = all["pending"].get(0) {
                    return first.clone();
                }
            }
        };
        soon("a call that waits", waits).await
    }

    /// Answers a call that waits.
    pub(crate) async fn answer(&self, id: &Value, body: Value) -> (u16, Value) {
        let path = format!("/api/approvals/{}", id.as_str().expect("a name"));
        self.admin("POST", &path, &body).await
    }

    /// Runs the command line with the state of the gateway: its exit code and what it wrote.
    pub(crate) async fn gantry(&self, words: &[&str]) -> (i32, String) {
        let output = command(program())
            .args(words)
            .current_dir(&self.bench.folder)
            .env("XDG_STATE_HOME", &self.bench.folder)
            .env("USER", "somebody")
            .env_remove("GANTRY_TRUST")
            .output();
        let output = soon("the command", output).await.expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    /// Sends a call, and lets somebody answer while it waits.
    pub(crate) async fn during<T>(
        &self,
        request: &Request,
        answers: impl Future<Output = T>,
    ) -> (Value, T) {
        soon("the call", async { tokio::join!(request.ask(self.address), answers) }).await
    }
}

impl Drop for ApprovalFixture {
    fn drop(&mut self) {
        let _ = self.gateway.start_kill();
    }
}

/// A call of the tool, by a client that can be asked nothing.
pub(crate) fn wipe(path: &str) -> Request {
    call(TOOL, json!({"path": path}))
}

/// Why a call was refused, by an error or by a result; nothing if it was not.
pub(crate) fn refusal(answer: &Value) -> String {
    let result = &answer["result"];
    let text = match result["isError"] == true {
        true => &result["content"][0]["text"],
        false => &answer["error"]["message"],
    };
    text.as_str().unwrap_or_default().to_owned()
}

/// Writes the configuration in one step, as an editor does.
fn configure(bench: &Bench, policy: &Value) {
    let config = json!({"tools": ["./tools"], "policy": policy});
    let draft = bench.folder.join("gantry.json.new");
    fs::write(&draft, config.to_string()).expect("a file");
    fs::rename(draft, bench.folder.join("gantry.json")).expect("a file");
}
