//! Administration over HTTP, by the real binary: who may, what is registered, and what is left of
//! it after a restart.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use gantry_tests::house::soon;
use gantry_tests::http::Outgoing;
use gantry_tests::workshop::{command, program};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// A folder for the state, gone with the test.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let home = std::env::temp_dir().join(format!("gantry-admin-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home).expect("a folder");
        Self(home)
    }

    fn token(&self) -> String {
        let token = fs::read_to_string(self.0.join("gantry/admin-token")).expect("a token");
        token.trim().to_owned()
    }

    fn mode(&self, path: &str) -> u32 {
        let about = fs::metadata(self.0.join("gantry").join(path)).expect(path);
        about.permissions().mode() & 0o777
    }

    fn kept(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.join("gantry/tools")).expect("a folder").flatten();
        let mut names: Vec<_> =
            files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A gateway with a client on stdio, and HTTP beside it.
struct Gateway {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<ChildStderr>>,
    /// What it said until it listened.
    greeting: String,
    address: SocketAddr,
    token: String,
    last: u64,
}

impl Gateway {
    async fn start(home: &Home, words: &[&str]) -> Self {
        let mut child = command(program())
            .args(["serve", "--stdio", "--listen", "127.0.0.1:0"])
            .args(words)
            .current_dir(&home.0)
            .env("XDG_STATE_HOME", &home.0)
            .env("XDG_CONFIG_HOME", &home.0)
            .env_remove("GANTRY_CONFIG")
            .env_remove("GANTRY_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the gateway starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
        let (mut greeting, mut address) = (String::new(), None);
        while !greeting.contains("Stop with") {
            let line = soon("the greeting", log.next_line()).await.expect("text").expect("a line");
            let told = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
            address = address.or(told.and_then(|(address, _)| address.parse().ok()));
            greeting.push_str(&format!("{line}\n"));
        }
        let address = address.expect("it says where it listens");
        let token = home.token();
        let mut gateway = Self { child, input, output, log, greeting, address, token, last: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "admin", "version": "0"}});
        gateway.ask("initialize", hello).await;
        gateway.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        gateway
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    async fn receive(&mut self) -> Value {
        let line = soon("a message", self.output.next_line()).await.expect("a line");
        serde_json::from_str(&line.expect("a message")).expect("JSON")
    }

    /// Asks and waits for the answer. Notifications in between are passed over.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn call(&mut self, name: &str) -> Value {
        let params = json!({"name": name, "arguments": {"text": "x"}});
        self.ask("tools/call", params).await["result"]["structuredContent"].clone()
    }

    async fn hears_of_a_change(&mut self) {
        while self.receive().await["method"] != "notifications/tools/list_changed" {}
    }

    /// Sends a request with just these headers.
    async fn request(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, Value) {
        let host = [("Host", "127.0.0.1")];
        let headers = host.iter().chain(headers);
        let outgoing = Outgoing {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.to_vec(),
        };
        let mut answer = outgoing.send(self.address).await;
        let text = answer.text().await;
        (answer.status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Sends a request with the token.
    async fn admin(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let bearer = format!("Bearer {}", self.token);
        self.request((method, path), &[("Authorization", &bearer)], body.as_bytes()).await
    }

    async fn register(&self, manifest: &Value) -> (u16, Value) {
        self.admin("POST", "/api/tools", &manifest.to_string()).await
    }

    /// The names and versions that are listed.
    async fn registered(&self) -> Vec<String> {
        let (status, list) = self.admin("GET", "/api/tools", "").await;
        assert_eq!(status, 200, "{list}");
        let tools = list["tools"].as_array().expect("a list").iter();
        let text = |tool: &Value, key: &str| tool[key].as_str().expect("text").to_owned();
        tools.map(|tool| format!("{}@{}", text(tool, "name"), text(tool, "version"))).collect()
    }

    async fn stop(mut self) {
        drop(self.input);
        let mut rest = String::new();
        let log = self.log.get_mut();
        soon("the log", log.read_to_string(&mut rest)).await.expect("a text");
        let status = soon("the end", self.child.wait()).await.expect("an end");
        assert!(status.success(), "{status}: {rest}");
    }
}

/// A tool that tells its version, with these properties to its arguments.
fn manifest(version: &str, properties: &Value) -> Value {
    let script = format!("read -r line; echo '{{\"version\": \"{version}\"}}'");
    json!({
        "name": "text.answer", "version": version, "description": "Answers.",
        "command": ["sh", "-c", script],
        "inputSchema": {"type": "object", "properties": properties, "required": ["text"]},
        "outputSchema": {"type": "object", "properties": {"version": {"type": "string"}}},
    })
}

fn text_only() -> Value {
    json!({"text": {"type": "string"}})
}

#[tokio::test]
async fn only_who_holds_the_token_may() {
    let home = Home::new("token");
    let gateway = Gateway::start(&home, &[]).await;
    let (token, body) = (gateway.token.clone(), manifest("1.0.0", &text_only()).to_string());
    let (right, wrong) = (format!("Bearer {token}"), format!("Bearer {}", "0".repeat(64)));
    let elsewhere = ("Origin", "https://example.com");
    let cases: [(_, _, &[(&str, &str)], _); 9] = [
        ("GET", "/api/tools", &[], 401),
        ("POST", "/api/tools", &[], 401),
        ("DELETE", "/api/tools/text.answer", &[], 401),
        ("POST", "/api/tools", &[("Authorization", &wrong)], 401),
        ("POST", "/api/tools", &[("Authorization", &token)], 401),
        ("GET", "/api/elsewhere", &[], 401),
        ("POST", "/api/tools", &[("Authorization", &right), elsewhere], 403),
        ("GET", "/api/elsewhere", &[("Authorization", &right)], 404),
        ("PUT", "/api/tools", &[("Authorization", &right)], 405),
    ];
    for (method, path, headers, status) in cases {
        let (got, said) = gateway.request((method, path), headers, body.as_bytes()).await;
        assert_eq!(got, status, "{method} {path} {headers:?}: {said}");
        assert!(!said.to_string().contains(&token), "{said}");
    }
    assert_eq!(gateway.registered().await, [""; 0], "nothing got in");
    let file = home.0.join("gantry/admin-token").display().to_string();
    assert!(gateway.greeting.contains(&file), "{}", gateway.greeting);
    assert!(!gateway.greeting.contains(&token), "the token itself is not told");
    assert!(token.len() == 64 && token.bytes().all(|it| it.is_ascii_hexdigit()), "{token}");
    gateway.stop().await;
}

#[tokio::test]
async fn registered_called_removed() {
    let home = Home::new("life");
    let mut gateway = Gateway::start(&home, &[]).await;
    let first = manifest("1.0.0", &text_only());
    let (status, shown) = gateway.register(&first).await;
    assert_eq!((status, &shown["version"]), (201, &json!("1.0.0")), "{shown}");
    gateway.hears_of_a_change().await;
    assert_eq!(gateway.call("text.answer").await, json!({"version": "1.0.0"}));
    let (status, _) = gateway.register(&first).await;
    assert_eq!(status, 200, "the same again changes nothing");

    let other = json!({"text": {"type": "string"}, "more": {"type": "string"}});
    let (status, refused) = gateway.register(&manifest("1.0.0", &other)).await;
    assert_eq!((status, &refused["error"]["error_type"]), (409, &json!("RegistrationError")));
    let advice = refused["error"]["error_details"]["advice"].as_str().expect("text").to_owned();
    assert!(advice.contains("raise the version to 1.1.0 or above"), "{advice}");
    assert_eq!(gateway.call("text.answer").await, json!({"version": "1.0.0"}), "it stays");

    let (status, said) = gateway.register(&manifest("1.1.0", &other)).await;
    assert_eq!(status, 201, "{said}");
    gateway.hears_of_a_change().await;
    assert_eq!(gateway.registered().await, ["text.answer@1.1.0", "text.answer@1.0.0"]);
    assert_eq!(gateway.call("text.answer").await, json!({"version": "1.1.0"}));
    assert_eq!(gateway.call("text.answer@1.0.0").await, json!({"version": "1.0.0"}));
    for sign in ["@", "%40"] {
        let path = format!("/api/tools/text.answer{sign}1.0.0");
        let (status, shown) = gateway.admin("GET", &path, "").await;
        assert_eq!((status, &shown["version"]), (200, &json!("1.0.0")), "{shown}");
    }
    let listed = gateway.ask("tools/list", json!({})).await.to_string();
    assert!(listed.contains("text.answer") && listed.contains("word_count"), "{listed}");

    let (status, said) = gateway.admin("DELETE", "/api/tools/text.answer@1.1.0", "").await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(gateway.call("text.answer").await, json!({"version": "1.0.0"}));
    let (status, _) = gateway.admin("DELETE", "/api/tools/text.answer", "").await;
    assert_eq!(status, 200);
    for method in ["DELETE", "GET"] {
        let (status, said) = gateway.admin(method, "/api/tools/text.answer", "").await;
        assert_eq!(status, 404, "{method}: {said}");
    }
    assert_eq!((gateway.registered().await, home.kept()), (vec![], vec![]));
    gateway.stop().await;
}

#[tokio::test]
async fn it_outlives_a_restart() {
    let home = Home::new("restart");
    let gateway = Gateway::start(&home, &[]).await;
    let (token, versions) = (gateway.token.clone(), ["9.0.0", "10.0.0"]);
    for version in versions {
        let (status, said) = gateway.register(&manifest(version, &text_only())).await;
        assert_eq!(status, 201, "{said}");
    }
    gateway.stop().await;
    assert_eq!(home.kept(), ["text.answer@10.0.0.json", "text.answer@9.0.0.json"]);
    let modes = ["", "key", "admin-token", "tools", "tools/text.answer@9.0.0.json"];
    assert_eq!(modes.map(|path| home.mode(path)), [0o700, 0o600, 0o600, 0o700, 0o600]);

    fs::write(home.0.join("gantry/tools/bad@1.0.0.json"), "{").expect("a file");
    let mut gateway = Gateway::start(&home, &[]).await;
    assert_eq!(gateway.token, token, "the token stays");
    assert!(gateway.greeting.contains("1 tool\n"), "{}", gateway.greeting);
    assert!(gateway.greeting.contains("bad@1.0.0.json"), "{}", gateway.greeting);
    assert_eq!(gateway.registered().await, ["text.answer@10.0.0", "text.answer@9.0.0"]);
    for version in versions {
        let said = gateway.call(&format!("text.answer@{version}")).await;
        assert_eq!(said, json!({"version": version}));
        let (status, said) = gateway.register(&manifest(version, &text_only())).await;
        assert_eq!(status, 200, "it is there: {said}");
    }
    let (status, _) = gateway.admin("DELETE", "/api/tools/text.answer", "").await;
    assert_eq!(status, 200);
    gateway.stop().await;
    let gateway = Gateway::start(&home, &[]).await;
    assert_eq!(gateway.registered().await, [""; 0], "what was removed stays away");
    gateway.stop().await;
}

#[tokio::test]
async fn a_bad_manifest_is_refused_with_the_reason() {
    let home = Home::new("bad");
    let gateway = Gateway::start(&home, &[]).await;
    let without = |key: &str| {
        let mut manifest = manifest("1.0.0", &text_only());
        manifest.as_object_mut().expect("an object").remove(key);
        manifest.to_string()
    };
    let with = |key: &str, value: Value| {
        let mut manifest = manifest("1.0.0", &text_only());
        manifest[key] = value;
        manifest.to_string()
    };
    let cases = [
        ("{".to_owned(), 400, "not a manifest in JSON"),
        ("[]".to_owned(), 400, "object"),
        (without("name"), 400, "name"),
        (without("inputSchema"), 400, "inputSchema"),
        (without("outputSchema"), 400, "outputSchema"),
        (with("versoin", json!("1.0.0")), 400, "write `version`"),
        (with("version", json!("one")), 400, "version"),
        (with("inputSchema", json!({"type": "nonsense"})), 400, "input schema"),
        (with("outputSchema", json!({"type": "nonsense"})), 400, "outputSchema"),
        (with("name", json!("../../etc/x")), 400, "name"),
        (with("command", json!("/no/such/program")), 400, "/no/such/program"),
        (with("env", json!({"A": "${NOWHERE_SET}"})), 400, "NOWHERE_SET"),
    ];
    for (body, status, reason) in cases {
        let (got, said) = gateway.admin("POST", "/api/tools", &body).await;
        assert_eq!(got, status, "{body}: {said}");
        let error = &said["error"];
        let (text, advice) = (&error["error_message"], &error["error_details"]["advice"]);
        assert!(format!("{text} {advice}").contains(reason), "{body}: {said}");
    }
    assert!(!home.0.join("gantry/tools").exists(), "nothing is kept");
    gateway.stop().await;
}

#[tokio::test]
async fn tools_of_folders_go_with_their_files() {
    let home = Home::new("folder");
    fs::create_dir_all(home.0.join("tools")).expect("a folder");
    let file = home.0.join("tools/answer.tool.json");
    fs::write(file, manifest("1.0.0", &text_only()).to_string()).expect("a manifest");
    let gateway = Gateway::start(&home, &["--tools", "tools"]).await;
    assert_eq!(gateway.registered().await, ["text.answer@1.0.0"]);
    let (status, said) = gateway.admin("DELETE", "/api/tools/text.answer", "").await;
    assert_eq!(status, 404, "{said}");
    assert!(said.to_string().contains("go with their files"), "{said}");
    assert_eq!(gateway.registered().await, ["text.answer@1.0.0"]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_damaged_token_is_told() {
    let home = Home::new("damaged");
    fs::create_dir_all(home.0.join("gantry")).expect("a folder");
    fs::write(home.0.join("gantry/admin-token"), "short").expect("a file");
    let mut serve = command(program());
    serve.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(&home.0);
    serve.env("XDG_STATE_HOME", &home.0).env("XDG_CONFIG_HOME", &home.0);
    let output = soon("the end", serve.env_remove("GANTRY_CONFIG").output()).await;
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("`admin-token`") && told.contains("remove it"), "{told}");
}
