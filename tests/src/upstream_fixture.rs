//! The real binary in front of other servers, by a configuration that may change while it runs.
//! Every process behind it carries a mark, so that none can be forgotten.

mod load;
mod raw_client;
mod scripted;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::{Duration, Instant, sleep};

use crate::http::Outgoing;
use crate::processes;
use crate::request::{call, list};
use crate::temp_folder::{Bench, command, finish, gateway, program};
use crate::test_server::soon;
use crate::tool_fixture::listen;

pub use load::Load;
pub use raw_client::RawClient;
pub use scripted::{Scripted, beside, scripted};

/// How long a server may take to be as it should, even one that is slow to start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A gateway with servers behind it. Dropping it kills them all.
#[derive(Debug)]
pub struct UpstreamFixture {
    /// Where it listens for HTTP.
    pub address: SocketAddr,
    /// Its configuration and its state.
    pub bench: Bench,
    gateway: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    log: Arc<Mutex<String>>,
    /// The variable that all processes behind the gateway have.
    pub mark: String,
    /// What its configuration says beside the servers.
    settings: Value,
    /// Variables that the gateway has beside the usual ones.
    variables: Vec<(String, String)>,
}

impl UpstreamFixture {
    /// Starts a gateway with these servers, which may change what they offer.
    pub async fn open(name: &str, servers: Value) -> Self {
        Self::open_with(name, json!({}), servers).await
    }

    /// Starts a gateway with these servers, and with this in its configuration beside the usual.
    pub async fn open_with(name: &str, more: Value, servers: Value) -> Self {
        // What is not tested stands in nobody's way.
        let mut config = json!({"pins": "off", "limits": {"default": "off"}});
        for (key, value) in more.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        config["mcpServers"] = servers;
        Self::with(name, config).await
    }

    /// Starts a gateway with this configuration. Nobody needs a token unless it says so.
    pub async fn with(name: &str, config: Value) -> Self {
        Self::with_variables(name, config, Vec::new()).await
    }

    /// Starts a gateway with this configuration and these variables.
    pub async fn with_variables(
        name: &str,
        config: Value,
        variables: Vec<(String, String)>,
    ) -> Self {
        let bench = Bench::new(&format!("yard-{name}"));
        let mark = format!("yard-{name}-{}", std::process::id());
        Self::over(bench, mark, config, variables).await
    }

    async fn over(
        bench: Bench,
        mark: String,
        config: Value,
        variables: Vec<(String, String)>,
    ) -> Self {
        let mut settings = config.clone();
        settings.as_object_mut().expect("an object").remove("mcpServers");
        let auth = config["auth"].as_str().unwrap_or("none").to_owned();
        save(&bench, &mark, config);
        let mut gateway = start(&bench, &auth, &variables);
        let input = gateway.stdin.take();
        let output = BufReader::new(gateway.stdout.take().expect("its output")).lines();
        let (log, address) = listen(gateway.stderr.take().expect("its log"));
        let address = soon("the address", address).await.expect("it says where it listens");
        Self { address, bench, gateway, input, output, log, mark, settings, variables }
    }

    /// Ends the gateway in good order, and starts another with the same state.
    pub async fn reopen(self, servers: Value) -> Self {
        let config = with_servers(self.settings.clone(), servers);
        self.reopen_with(config).await
    }

    /// The same with this configuration.
    pub async fn reopen_with(mut self, config: Value) -> Self {
        self.finish().await;
        let bench = Bench { folder: self.bench.folder.clone() };
        // The folder is not this one's any more.
        self.bench.folder = PathBuf::new();
        let (mark, variables) = (self.mark.clone(), self.variables.clone());
        drop(self);
        Self::over(bench, mark, config, variables).await
    }

    /// Saves a configuration with these servers.
    pub fn configure(&self, servers: Value) {
        self.save(with_servers(self.settings.clone(), servers));
    }

    /// Saves this configuration.
    pub fn save(&self, config: Value) {
        save(&self.bench, &self.mark, config);
    }

    /// The number of the gateway's process.
    pub fn id(&self) -> u32 {
        self.gateway.id().expect("the gateway runs")
    }

    /// What the gateway has written to standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// The processes behind the gateway.
    pub fn processes(&self) -> Vec<u32> {
        let gateway = self.id();
        processes::marked(&self.mark).into_iter().filter(|id| *id != gateway).collect()
    }

    /// Calls a tool: the text of its result, or of its failure.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<String, String> {
        said(&call(tool, arguments).ask(self.address).await)
    }

    /// The names of the tools of a server, as it calls them itself.
    pub async fn tools(&self, server: &str) -> Vec<String> {
        let prefix = format!("{server}_");
        let listed = list().ask(self.address).await;
        let tools = listed["result"]["tools"].as_array().expect("a list of tools");
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    /// Sends a line to its standard input, and gives the line that answers it.
    pub async fn line(&mut self, message: &str) -> String {
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
        let sent: Value = serde_json::from_str(message).expect("a message");
        loop {
            let line = soon("a message", self.output.next_line()).await.expect("text");
            let line = line.expect("the gateway goes on");
            let heard: Value = serde_json::from_str(&line).expect("every line is JSON");
            if heard["id"] == sent["id"] && heard.get("method").is_none() {
                return line;
            }
        }
    }

    /// The next message on its standard output.
    pub async fn hear(&mut self) -> Value {
        let line = soon("a message", self.output.next_line()).await.expect("text");
        let line = line.expect("the gateway goes on");
        serde_json::from_str(&line).expect("every line is JSON")
    }

    /// Sends a line that nobody answers.
    pub async fn tell(&mut self, message: &str) {
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    /// Asks the administration.
    pub async fn admin(&self, method: &str, path: &str) -> Value {
        let file = self.bench.folder.join("gantry/admin-token");
        let token = fs::read_to_string(file).expect("a token");
        let headers = [
            ("Host".to_owned(), self.address.to_string()),
            ("Authorization".to_owned(), format!("Bearer {token}")),
        ];
        let (method, path) = (method.to_owned(), path.to_owned());
        let outgoing = Outgoing { method, path, headers: headers.into(), body: Vec::new() };
        let text = outgoing.send(self.address).await.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Makes a token of that name.
    pub async fn token(&self, name: &str) -> String {
        let mut create = command(program());
        create.args(["token", "create", "--json", "--name", name]);
        create.env("XDG_STATE_HOME", &self.bench.folder).current_dir(&self.bench.folder);
        let made: Value = serde_json::from_str(&finish(&mut create).await).expect("JSON");
        made["token"].as_str().expect("a token").to_owned()
    }

    /// How a server stands.
    pub async fn status(&self, server: &str) -> Value {
        self.admin("GET", &format!("/api/servers/{server}")).await
    }

    /// The number of a server's process, if it has one.
    pub async fn process(&self, server: &str) -> Option<u32> {
        self.status(server).await["process"].as_u64().and_then(|id| id.try_into().ok())
    }

    /// Waits until a server stands as it should, which nobody announces, and tells how.
    pub async fn until(&self, server: &str, what: &str, reached: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = self.status(server).await;
            if reached(&status) {
                return status;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "`{server}` is not {what}: {status}\n{}",
                self.log()
            );
            // Only the pause between two looks; nothing depends on its length.
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a server has this state.
    pub async fn until_state(&self, server: &str, state: &str) -> Value {
        self.until(server, state, |status| status["state"] == state).await
    }

    /// Waits until a server is ready and its tools are listed.
    pub async fn until_listed(&self, server: &str) -> Value {
        let is_listed = |status: &Value| status["state"] == "ready" && status["tools"] != 0;
        let status = self.until(server, "listed", is_listed).await;
        self.until_offered(server).await;
        status
    }

    /// Waits until tools of a server are listed: what it has is known a moment before.
    pub async fn until_offered(&self, server: &str) {
        let offered = async { while self.tools(server).await.is_empty() {} };
        soon("its tools", offered).await;
    }

    /// Ends the gateway in good order: nothing that it started is left.
    pub async fn close(mut self) {
        self.finish().await;
    }

    async fn finish(&mut self) {
        self.input = None;
        processes::signal(self.id(), Signal::TERM);
        let status = soon("the end of the gateway", self.gateway.wait()).await.expect("a status");
        assert!(status.success(), "{status}: {}", self.log());
        processes::until_none(&self.mark).await;
    }
}

impl Drop for UpstreamFixture {
    fn drop(&mut self) {
        let _ = self.gateway.start_kill();
    }
}

/// The text of a result, or of whatever went wrong.
pub fn said(message: &Value) -> Result<String, String> {
    let result = &message["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    match (message["error"]["message"].as_str(), result["isError"] == true) {
        (Some(error), _) => Err(error.to_owned()),
        (None, true) => Err(text),
        (None, false) => Ok(text),
    }
}

fn with_servers(mut settings: Value, servers: Value) -> Value {
    settings["mcpServers"] = servers;
    settings
}

/// Writes the configuration in one step, as an editor does. Programs are given the mark.
fn save(bench: &Bench, mark: &str, mut config: Value) {
    for entry in config["mcpServers"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        if entry.get("command").is_some() {
            entry["env"]["YARD"] = json!(mark);
        }
    }
    let draft = bench.folder.join("gantry.json.new");
    fs::write(&draft, config.to_string()).expect("a file");
    fs::rename(draft, bench.folder.join("gantry.json")).expect("a file");
}

fn start(bench: &Bench, auth: &str, variables: &[(String, String)]) -> Child {
    command(gateway())
        .args(["serve", "--stdio", "--listen", "127.0.0.1:0", "--config"])
        .arg(bench.folder.join("gantry.json"))
        .env("XDG_STATE_HOME", &bench.folder)
        .env("GANTRY_AUTH", auth)
        .env_remove("GANTRY_LISTEN")
        .env_remove("GANTRY_LOG")
        .envs(variables.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the gateway starts")
}
