//! A configuration that is saved while the program runs.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Program, state};

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);
const LIST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

#[tokio::test]
async fn what_is_saved_comes_into_force_and_what_is_broken_does_not() {
    let folder = state("reload");
    let manifest = json!({"name": "test.one", "version": "1.0.0", "description": "For a test.",
        "command": ["true"], "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "string"}});
    fs::create_dir_all(folder.join("tools")).expect("a folder");
    fs::write(folder.join("tools/one.tool.json"), manifest.to_string()).expect("a file");
    let file = folder.join("gantry.json");
    fs::write(&file, "{\"tools\": []}").expect("a file");
    let words = ["serve", "--stdio", "--config", file.to_str().expect("text")];
    let mut program = Program::start(&folder, &words);
    program.write(HELLO).await;
    assert!(program.receive().await.expect("a greeting")["result"].is_object());

    fs::write(&file, "{\n  \"tolls\": []}").expect("a file");
    let logged = program.logged("the configuration is not valid").await;
    // A file may be looked at while it is still empty; the rest of it is seen right after.
    if !logged.contains("gantry.json:2:3: unknown key `tolls`; write `tools`") {
        program.logged("gantry.json:2:3: unknown key `tolls`; write `tools`").await;
    }
    fs::write(&file, "{\"tools\": [\"./tools\"], \"listen\": \"127.0.0.1:0\"}").expect("a file");
    let changed = program.receive().await.expect("a notification");
    assert_eq!(changed["method"], "notifications/tools/list_changed", "{changed}");
    program.logged("`listen` has changed; restart the gateway to apply it").await;
    program.write(LIST).await;
    let listed: Value = program.receive().await.expect("an answer");
    assert_eq!(listed["result"]["tools"][0]["name"], "test_one", "{listed}");
    program.end_input();
    assert_eq!(program.end().await.code, Some(0));
    let _ = fs::remove_dir_all(folder);
}
