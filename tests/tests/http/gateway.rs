//! The real binary with tokens required, started under limits of the operating system.

use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gantry_tests::http::{Answer, Outgoing};
use gantry_tests::request::{Request, call, list};
use gantry_tests::temp_folder::{Bench, command, program};
use gantry_tests::test_server::soon;
use gantry_tests::tool_fixture::listen;
use serde_json::{Value, json};
use tokio::process::Child;

/// How long a caller that behaves may wait while others attack.
const PROMPT: Duration = Duration::from_secs(5);

/// How long a server may take to be listed.
const LISTED: Duration = Duration::from_secs(30);

/// A running gateway; dropping it kills it.
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    token: String,
    log: Arc<Mutex<String>>,
    child: Child,
    _bench: Bench,
}

impl Gateway {
    /// Starts one with this configuration and one tool, `descriptors`, a program that prints its
    /// soft limit of open files. `limits` are shell commands that run first.
    pub(crate) async fn start(name: &str, config: Value, limits: &str) -> Self {
        let bench = Bench::new(&format!("http-{name}"));
        bench.write("descriptors", "#!/bin/sh\nread -r _\necho \"{\\\"soft\\\": $(ulimit -n)}\"\n");
        let tool = json!({
            "name": "test.descriptors", "version": "1.0.0", "description": "Its limit.",
            "command": "../descriptors", "inputSchema": {"type": "object", "properties": {}},
            "outputSchema": {"type": "object", "properties": {"soft": {"type": "integer"}}}
        });
        bench.write("tools/test.descriptors.tool.json", &tool.to_string());
        let mut settings = json!({"tools": ["./tools"], "limits": {"default": "off"}});
        for (key, value) in config.as_object().into_iter().flatten() {
            settings[key] = value.clone();
        }
        bench.write("gantry.json", &settings.to_string());
        let mut shell = command("/bin/sh");
        shell.arg("-c").arg(format!("{limits}; exec \"$0\" serve --listen 127.0.0.1:0"));
        shell.arg(program()).current_dir(&bench.folder);
        shell.env("XDG_STATE_HOME", &bench.folder).env("HOME", &bench.folder);
        for variable in ["GANTRY_AUTH", "GANTRY_LISTEN", "GANTRY_CONFIG", "GANTRY_LOG"] {
            shell.env_remove(variable);
        }
        let mut child = shell.stderr(Stdio::piped()).spawn().expect("it starts");
        let (log, address) = listen(child.stderr.take().expect("its log"));
        let address = soon("the address", address).await;
        let address = address.unwrap_or_else(|_| panic!("{}", log.lock().expect("whole")));
        let token = bench.folder.join("gantry/client-token");
        let token = fs::read_to_string(token).expect("the first start makes a token");
        Self { address, token, log, child, _bench: bench }
    }

    /// The token of the first start.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Waits until a tool is in the list.
    pub(crate) async fn until_listed(&self, tool: &str) {
        let begun = Instant::now();
        loop {
            let answer = self.authorized(list()).ask(self.address).await;
            let mut tools = answer["result"]["tools"].as_array().into_iter().flatten();
            if tools.any(|it| it["name"] == tool) {
                return;
            }
            assert!(begun.elapsed() < LISTED, "{tool} is not listed: {answer}\n{}", self.log());
            // Only the pause between two looks.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// A request with the token of the first start.
    pub(crate) fn authorized(&self, request: Request) -> Request {
        request.header("Authorization", &format!("Bearer {}", self.token))
    }

    /// A GET without a token.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let headers = vec![("Host".to_owned(), self.address.to_string())];
        let (method, path) = ("GET".to_owned(), path.to_owned());
        let outgoing = Outgoing { method, path, headers, body: Vec::new() };
        prompt(outgoing.send(self.address)).await
    }

    /// Calls the tool with the token, on a connection of its own: what it printed. The answer
    /// must come promptly.
    pub(crate) async fn soft_limit_of_a_child(&self) -> u64 {
        let request = self.authorized(call("test.descriptors", json!({})));
        let answer = prompt(request.ask(self.address)).await;
        let soft = answer["result"]["structuredContent"]["soft"].as_u64();
        soft.unwrap_or_else(|| panic!("{answer}\n{}", self.log()))
    }
}

/// What comes within the time that a caller may expect.
async fn prompt<T>(future: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let value = future.await;
    assert!(begun.elapsed() < PROMPT, "it took {:?}", begun.elapsed());
    value
}
