//! `/api/tools`: registering tools while the real binary runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use gantry_tests::http::Outgoing;
use gantry_tests::request::list;
use gantry_tests::temp_folder::{command, program};
use gantry_tests::test_server::soon;
use gantry_tests::tool_fixture::{Folder, ToolFixture, description};
use serde_json::{Value, json};

/// A gateway, and the token that it has made.
struct AdminFixture {
    tool_fixture: ToolFixture,
    token: String,
}

impl AdminFixture {
    async fn open() -> Self {
        let tool_fixture = ToolFixture::open(Folder::new()).await;
        let file = tool_fixture.folder.path().join("gantry/admin-token");
        let mode = file.metadata().expect("a token").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "the token is its owner's alone");
        let token = fs::read_to_string(file).expect("a token");
        Self { tool_fixture, token }
    }

    /// The status and the JSON of an answer.
    async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let bearer = format!("Bearer {}", self.token);
        self.ask_with(method, path, body, &[("Authorization", &bearer)]).await
    }

    async fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let host = [("Host", self.tool_fixture.address.to_string())];
        let more = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let headers = host.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value));
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let (method, path) = (method.to_owned(), path.to_owned());
        let outgoing = Outgoing { method, path, headers: headers.collect(), body };
        let mut answer = outgoing.send(self.tool_fixture.address).await;
        let text = answer.text().await;
        (answer.status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn register(&self, manifest: &Value) -> (u16, Value) {
        self.ask("POST", "/api/tools", manifest).await
    }
}

/// A version of a tool that says which it is.
fn tool(version: &str, required: &[&str]) -> Value {
    let properties: Value =
        required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let say = format!("echo '{{\"version\": \"{version}\"}}'");
    description(
        "made.tool",
        json!({
            "version": version, "command": ["sh", "-c", say],
            "inputSchema": {"type": "object", "properties": properties, "required": required},
        }),
    )
}

/// What went wrong, and what to do.
fn message(answer: &Value) -> String {
    let detail = &answer["error"];
    let advice = detail["error_details"]["advice"].as_str().unwrap_or_default();
    format!("{}; {advice}", detail["error_message"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn only_who_holds_the_token_is_served() {
    let admin = AdminFixture::open().await;
    let half = format!("Bearer {}", &admin.token[..32]);
    let cases: [&[(&str, &str)]; 4] = [
        &[],
        &[("Authorization", "Bearer wrong")],
        &[("Authorization", &half)],
        &[("Authorization", &admin.token)],
    ];
    for headers in cases {
        for (method, path) in [
            ("GET", "/api/tools"),
            ("POST", "/api/tools"),
            ("DELETE", "/api/tools/a.b"),
            ("GET", "/api/servers"),
            ("GET", "/api/servers/a/log"),
            ("POST", "/api/servers/a/restart"),
        ] {
            let (status, answer) = admin.ask_with(method, path, &Value::Null, headers).await;
            assert_eq!(
                (status, &answer["error"]["error_type"]),
                (401, &json!("AuthenticationError"))
            );
        }
    }
    let bearer = format!("Bearer {}", admin.token);
    let foreign = [("Authorization", bearer.as_str()), ("Origin", "http://evil.example")];
    assert_eq!(admin.ask_with("GET", "/api/tools", &Value::Null, &foreign).await.0, 403);
}

#[tokio::test]
async fn a_tool_comes_rises_and_goes() {
    let mut admin = AdminFixture::open().await;
    let first = tool("1.0.0", &[]);
    assert_eq!(admin.register(&first).await.0, 201);
    admin.tool_fixture.hear("notifications/tools/list_changed").await;
    let result = admin.tool_fixture.call("made.tool", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"version": "1.0.0"}));
    assert_eq!(admin.register(&first).await.0, 200, "the same again changes nothing");

    let (status, refused) = admin.register(&json!({"name": "made.tool"})).await;
    assert_eq!((status, &refused["error"]["error_type"]), (400, &json!("RegistrationError")));
    let (status, refused) = admin.register(&tool("1.0.0", &["a"])).await;
    assert_eq!((status, &refused["error"]["error_type"]), (409, &json!("RegistrationError")));
    assert!(message(&refused).contains("raise the version to 2.0.0"), "{refused}");
    assert_eq!(admin.register(&tool("2.0.0", &["a"])).await.0, 201);
    let kept = admin.tool_fixture.folder.path().join("gantry/tools/made.tool@2.0.0.json");
    let mode = kept.metadata().expect("a kept manifest").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it may hold secrets");

    // What was registered outlives the gateway, older versions too.
    admin.tool_fixture.restart().await;
    for (name, arguments, version) in
        [("made.tool", json!({"a": "x"}), "2.0.0"), ("made.tool@1.0.0", json!({}), "1.0.0")]
    {
        let result = admin.tool_fixture.call(name, arguments).await;
        assert_eq!(result["structuredContent"], json!({"version": version}), "{name}: {result}");
    }
    let (_, list) = admin.ask("GET", "/api/tools", &Value::Null).await;
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(2), "{list}");
    let (status, shown) = admin.ask("GET", "/api/tools/made.tool%401.0.0", &Value::Null).await;
    assert_eq!((status, &shown["version"]), (200, &json!("1.0.0")));

    assert_eq!(admin.ask("DELETE", "/api/tools/made.tool@1.0.0", &Value::Null).await.0, 200);
    assert_eq!(admin.ask("GET", "/api/tools/made.tool@1.0.0", &Value::Null).await.0, 404);
    assert_eq!(admin.ask("DELETE", "/api/tools/made.tool", &Value::Null).await.0, 200);
    assert_eq!(admin.ask("DELETE", "/api/tools/made.tool", &Value::Null).await.0, 404);
    admin.tool_fixture.restart().await;
    assert_eq!(admin.tool_fixture.names().await, [] as [&str; 0], "what was removed stays away");
}

#[tokio::test]
async fn what_cannot_be_registered_says_why() {
    let admin = AdminFixture::open().await;
    let lacking = |member: &str| {
        let mut manifest = tool("1.0.0", &[]);
        manifest.as_object_mut().expect("an object").remove(member);
        manifest
    };
    let cases = [
        (lacking("command"), 400, "the tool has no command"),
        (json!([]), 400, "not a JSON object"),
        (json!({"name": "made.tool", "comand": "x"}), 400, "unknown key `comand`"),
    ];
    for (manifest, status, words) in cases {
        let (found, answer) = admin.register(&manifest).await;
        assert_eq!(found, status, "{answer}");
        assert!(message(&answer).contains(words), "{answer}");
        assert_eq!(answer["error"]["error_type"], "RegistrationError", "{answer}");
    }
    let cases =
        [("PUT", "/api/tools", 405), ("POST", "/api/tools/a.b", 405), ("GET", "/api/x", 404)];
    for (method, path, status) in cases {
        assert_eq!(admin.ask(method, path, &Value::Null).await.0, status, "{method} {path}");
    }
}

#[tokio::test]
async fn tools_of_folders_go_with_their_files() {
    let folder = Folder::new();
    folder.shell("filed.tool", "echo '{}'");
    let tool_fixture = ToolFixture::open(folder).await;
    let token = fs::read_to_string(tool_fixture.folder.path().join("gantry/admin-token"));
    let mut admin = AdminFixture { tool_fixture, token: token.expect("a token") };
    let (status, refused) = admin.ask("DELETE", "/api/tools/filed.tool", &Value::Null).await;
    assert_eq!(status, 404, "{refused}");
    assert!(message(&refused).contains("removed with their files"), "{refused}");
    assert_eq!(admin.tool_fixture.names().await, ["filed_tool"]);
}

#[tokio::test]
async fn a_damaged_token_is_told() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("gantry")).expect("a folder");
    fs::write(folder.path().join("gantry/admin-token"), "short").expect("a file");
    let mut serve = command(program());
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env("XDG_STATE_HOME", folder.path());
    let output = soon("the end", serve.output()).await.expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("`admin-token`") && told.contains("remove it"), "{told}");
}

#[tokio::test]
async fn an_entry_without_version_is_registered_with_a_warning() {
    let mut admin = AdminFixture::open().await;
    let input = json!({"type": "object", "properties": {"key": {"type": "string"}}});
    let entry = json!({
        "name": "memory_put", "description": "Stores.", "inputSchema": input,
        "metadata": {"module": "memory", "destructive": false, "cache_ttl": 1},
        "command": ["sh", "-c", "echo '{\"stored\": true}'"],
    });
    let (status, answer) = admin.register(&entry).await;
    assert_eq!((status, &answer["name"]), (201, &json!("memory.memory_put")), "{answer}");
    let warnings = answer["warnings"].to_string();
    for words in ["no version, so 1.0.0 is assumed", "no output schema"] {
        assert!(warnings.contains(words), "{answer}");
    }
    assert_eq!(admin.register(&entry).await.0, 200, "the same again changes nothing");
    assert_eq!(admin.tool_fixture.names().await, ["memory_memory_put"]);
    for name in ["memory_put", "memory.memory_put", "memory_memory_put"] {
        let result = admin.tool_fixture.call(name, json!({})).await;
        assert_eq!(result["structuredContent"], json!({"stored": true}), "{name}: {result}");
    }
    let listed = admin.tool_fixture.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["annotations"]["destructiveHint"], false, "{listed}");
    let listed = list().ask(admin.tool_fixture.address).await;
    assert_eq!(listed["result"]["ttlMs"], 1000, "clients keep it as long as `cache_ttl`: {listed}");
}
