//! Servers that people use, from `tests/servers/real.json`: each alone, and all at once behind one
//! gateway.

use std::process::Stdio;
use std::time::{Duration, Instant};

use gantry::Revision;
use gantry_tests::temp_folder::{Bench, cache, command, finish, root};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::client::{Client, Target, result_of};
use crate::gateway::serve;

/// How long the slowest of them may take to start.
const APPEARS: Duration = Duration::from_secs(60);

/// The servers, with the paths of this machine filled in.
async fn servers(bench: &Bench) -> Vec<Value> {
    let folder = bench.folder.join("work");
    std::fs::create_dir_all(&folder).expect("a folder");
    finish(command("git").args(["init", "--quiet"]).arg(&folder)).await;
    let list = std::fs::read_to_string(root().join("tests/servers/real.json")).expect("the list");
    let node = cache().join("node22/node_modules/node/bin/node");
    let filled = list
        .replace("{cache}", &cache().display().to_string())
        .replace("{node}", &node.display().to_string())
        .replace("{folder}", &folder.display().to_string());
    serde_json::from_str(&filled).expect("the list is JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Speaks to a server alone, over stdio: what its call gave.
async fn speak(server: &Value) -> Value {
    let entry = &server["pinned"];
    let mut command = command(text(&entry["command"]));
    command.args(entry["args"].as_array().into_iter().flatten().map(text));
    for (name, value) in entry["env"].as_object().into_iter().flatten() {
        command.env(name, text(value));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts; run `cargo xtask provision` first");
    let mut input = child.stdin.take().expect("its input");
    let mut output = BufReader::new(child.stdout.take().expect("its output")).lines();
    let client = json!({"name": "matrix", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": server["call"]}),
    ];
    let mut last = Value::Null;
    for message in messages {
        if message["params"].is_null() && message["method"] == "tools/call" {
            break;
        }
        input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
        while !message["id"].is_null() && last["id"] != message["id"] {
            let line = soon(text(&server["name"]), output.next_line()).await.expect("text");
            last = serde_json::from_str(&line.expect("it goes on")).expect("JSON");
        }
    }
    last
}

#[tokio::test]
async fn direct_real() {
    let bench = Bench::new("real-direct");
    for server in servers(&bench).await {
        let answer = speak(&server).await;
        let failed = answer.get("result").is_none() || answer["result"]["isError"] == true;
        assert!(!failed, "{}: {answer}", server["name"]);
    }
}

/// All of them from one configuration, each called by a client of the newest revision.
#[tokio::test]
async fn through_real() {
    let bench = Bench::new("real-through");
    let servers = servers(&bench).await;
    let entries = servers.iter().map(|it| (text(&it["name"]).to_owned(), it["pinned"].clone()));
    let entries: serde_json::Map<String, Value> = entries.collect();
    let (_child, log, address) = serve(&bench, &json!({"mcpServers": entries})).await;
    let mut failures = Vec::new();
    for server in servers.iter().filter(|it| !it["call"].is_null()) {
        let target = Target { address, path: format!("/mcp/{}", text(&server["name"])) };
        if let Err(reason) = call(&target, &server["call"]).await {
            failures.push(format!("{}: {reason}", server["name"]));
        }
    }
    log.abort();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Calls a tool, as soon as the server has started.
async fn call(target: &Target, call: &Value) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let outcome = try_call(target, call).await;
        if outcome.is_ok() || begun.elapsed() > APPEARS {
            return outcome;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn try_call(target: &Target, call: &Value) -> Result<(), String> {
    let mut client = Client::connect(target.clone(), Revision::LATEST).await?;
    let result = result_of(client.ask("tools/call", call.clone()).await?)?;
    match result["isError"] == true {
        true => Err(result.to_string()),
        false => Ok(()),
    }
}
