//! `gantry.json`: found, read, refused.

use serde_json::json;

use crate::bench::Bench;

#[test]
fn the_configuration_says_where_tools_are() {
    let bench = Bench::new("config");
    bench.tool("test.one", "echo 1\n", &json!({}));
    bench.write("gantry.json", "{\n  // Mine.\n  \"tools\": [\"./tools\",],\n}\n");
    let listed = bench.run(&["tools", "list"]);
    assert!(listed.out.starts_with("test_one"), "{listed:?}");
    let shown = bench.run(&["config", "show"]).json();
    assert_eq!(shown["tools"][0], bench.path().join("tools").to_str().expect("text"), "{shown}");
    let path = bench.run(&["config", "path"]);
    assert_eq!(path.out.trim(), bench.path().join("gantry.json").to_str().expect("text"));
    let checked = bench.run(&["config", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let schema = bench.run(&["config", "schema"]).json();
    assert!(schema["properties"]["tools"].is_object(), "{schema}");
}

#[test]
fn what_is_wrong_is_named() {
    let bench = Bench::new("config-wrong");
    let cases = [
        ("{\"tolls\": []}", 3, "gantry.json:1:2: unknown key `tolls`; write `tools`"),
        ("{\n  \"model\": {}}", 3, "gantry.json:2:3: `model` is not yet supported"),
        ("{\"tools\": [\"./none\"]}", 3, "cannot read the tool folder"),
        ("{\"uv\": \"${NOWHERE_SET}\"}", 3, "the variable `NOWHERE_SET`, needed by `uv`"),
        ("{", 3, "not valid JSON"),
    ];
    for (text, code, expected) in cases {
        bench.write("gantry.json", text);
        for verb in [&["tools", "list"][..], &["call", "echo"], &["serve", "--stdio"]] {
            let run = bench.run(verb);
            assert_eq!(run.code, Some(code), "{text} {verb:?}: {run:?}");
            assert!(run.err.contains(expected), "{text} {verb:?}: {run:?}");
        }
    }
    let missing = bench.run(&["tools", "list", "--config", "none.json"]);
    assert_eq!(missing.code, Some(3), "{missing:?}");
    let missing = Bench::new("config-none").run(&["config", "check"]);
    assert_eq!(missing.code, Some(4), "{missing:?}");
}

#[test]
fn servers_are_listed_with_what_is_wrong() {
    let bench = Bench::new("config-servers");
    bench.write(
        "gantry.json",
        "{\"mcpServers\": {\n  \"fs\": {\"command\": \"npx\", \"args\": [\"--token\", \"hush\"]},\n  \
         \"web\": {\"url\": \"https://${NOWHERE_SET}/mcp\"},\n  \"off\": {\"enabled\": false}},\n  \
         \"include\": \"codex.toml\"}",
    );
    bench.write("codex.toml", "[mcp_servers.docs]\nurl = 'https://example.com/mcp'\n");
    let checked = bench.run(&["config", "check"]);
    assert_eq!(checked.code, Some(3), "{checked:?}");
    let lines: Vec<&str> = checked.out.lines().collect();
    let expected = ["fs", "web", "off", "docs"];
    assert!(lines.iter().zip(expected).all(|(line, name)| line.starts_with(name)), "{checked:?}");
    assert_eq!(lines.len(), expected.len(), "{checked:?}");
    let problem = "gantry.json:3:18: the variable `NOWHERE_SET`, needed by `url`, is not set";
    assert!(checked.err.contains(problem), "{checked:?}");
    let found = bench.run(&["config", "check", "--json"]).json();
    assert_eq!(found["servers"][3]["place"], "https://example.com/mcp", "{found}");
    let told = found["servers"][1]["problem"].as_str().expect("a text");
    assert!(told.contains(problem), "{found}");
    let shown = bench.run(&["config", "show"]);
    assert!(!shown.out.contains("hush"), "{shown:?}");
    let servers = &shown.json()["mcpServers"];
    assert_eq!(servers["fs"]["args"], json!(["--token", "…"]), "{shown:?}");
    assert_eq!(servers["docs"]["url"], "https://example.com/mcp", "{shown:?}");
}

#[test]
fn a_file_of_anvil_is_found() {
    let bench = Bench::new("config-anvil");
    bench.write(
        "anvil.json",
        r#"{"theme": "dark", "mcp": {"servers": {
            "db": {"type": "local", "command": ["db-server"], "enabled": true, "timeout": 30000}}}}"#,
    );
    let path = bench.run(&["config", "path"]);
    assert_eq!(path.out.trim(), bench.path().join("anvil.json").to_str().expect("text"));
    let checked = bench.run(&["config", "check"]);
    assert_eq!((checked.code, checked.out.as_str()), (Some(0), "db  stdio  db-server\n"));
}
