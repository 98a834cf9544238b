//! `import`: the servers of other clients.

use std::fs;

use serde_json::{Value, json};

use crate::bench::{Bench, Run};

/// Runs the program where the folder of the test is the home of its user.
fn run(bench: &Bench, words: &[&str]) -> Run {
    Run::of(&bench.command(words).env("HOME", bench.path()).output().expect("it runs"))
}

fn put(bench: &Bench, file: &str, text: &str) {
    let path = bench.path().join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn every_client_is_found_and_read() {
    let cases = [
        (
            "claude",
            "Library/Application Support/Claude/claude_desktop_config.json",
            r#"{"mcpServers": {"x": {"command": "npx", "args": ["-y", "fs"]}}}"#,
            json!({"command": "npx", "args": ["-y", "fs"]}),
        ),
        (
            "claude",
            "user/Claude/claude_desktop_config.json",
            r#"{"mcpServers": {"x": {"command": "npx"}}}"#,
            json!({"command": "npx"}),
        ),
        (
            "claude-code",
            ".mcp.json",
            r#"{"mcpServers": {"x": {"type": "http", "url": "${B:-https://h}/mcp"}}}"#,
            json!({"type": "http", "url": "${B:-https://h}/mcp"}),
        ),
        (
            "claude-code",
            ".claude.json",
            r#"{"theme": "dark", "mcpServers": {"x": {"type": "stdio", "command": "uvx", "args": []}}}"#,
            json!({"command": "uvx"}),
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"x": {"url": "https://h", "headers": {"A": "Bearer ${env:T}"}}}}"#,
            json!({"url": "https://h", "headers": {"A": "Bearer ${env:T}"}}),
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            "{\"servers\": { // mine\n \"x\": {\"command\": \"./x\", \"env\": {\"K\": \"${input:a-b}\"}},}}",
            json!({"command": "./x", "env": {"K": "${A_B}"}}),
        ),
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            r#"{"mcpServers": {"x": {"command": "npx", "timeout": 60, "disabled": false}}}"#,
            json!({"command": "npx", "timeout": 60000}),
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.x]\nurl = \"https://h\"\nbearer_token_env_var = \"T\"\n",
            json!({"url": "https://h", "headers": {"Authorization": "Bearer ${T}"}}),
        ),
        (
            "opencode",
            "user/opencode/opencode.jsonc",
            r#"{"mcp": {"x": {"type": "local", "command": ["npx", "x"], "enabled": false}}}"#,
            json!({"command": "npx", "args": ["x"], "disabled": true}),
        ),
        (
            "erasmus",
            ".erasmus/mcp/config.json",
            r#"{"mcpServers": {"x": {"command": "/bin/server", "args": ["studio"]}}}"#,
            json!({"command": "/bin/server", "args": ["studio"]}),
        ),
        (
            "anvil",
            "anvil.json",
            r#"{"mcp": {"servers": {"x": {"type": "remote", "url": "https://h", "timeout": 60000}}}}"#,
            json!({"url": "https://h", "timeout": 60000}),
        ),
    ];
    for (client, file, text, expected) in cases {
        let bench = Bench::new("import-client");
        put(&bench, file, text);
        let overview = run(&bench, &["import"]);
        assert!(overview.out.starts_with(&format!("{client}  ")), "{client}: {overview:?}");
        assert!(overview.out.ends_with("  x\n"), "{client}: {overview:?}");
        let source = bench.path().join(file).display().to_string();
        for words in [["import", client], ["import", &source]] {
            let _ = fs::remove_file(bench.path().join("gantry.json"));
            let taken = run(&bench, &[&words[..], &["--scope", "project"]].concat());
            assert_eq!(taken.code, Some(0), "{words:?}: {taken:?}");
            assert!(taken.err.contains("took 1 server"), "{words:?}: {taken:?}");
            let written = fs::read_to_string(bench.path().join("gantry.json")).expect("a file");
            let written: Value = serde_json::from_str(&written).expect("JSON");
            assert_eq!(written["mcpServers"]["x"], expected, "{words:?}");
        }
        assert_eq!(fs::read_to_string(&source).expect("it stays"), text);
    }
}

#[test]
fn what_is_left_is_told() {
    let bench = Bench::new("import-left");
    bench.write(
        "gantry.json",
        "{\n  // mine\n  \"mcpServers\": {\"there\": {\"command\": \"x\"}}\n}\n",
    );
    bench.write(
        "other.json",
        r#"{"mcpServers": {"there": {"command": "y"}, "my server": {"command": "y", "alwaysAllow": []},
            "odd": {"type": "pigeon"}, "socket": {"url": "unix:///x"}, "none": {},
            "self": {"url": "http://localhost:4268/mcp"}, "self2": {"command": "gantry", "args": ["serve"]},
            "key": {"command": "z", "env": {"API_KEY": "abc"}}}}"#,
    );
    let before = fs::read_to_string(bench.path().join("gantry.json")).expect("a file");
    let shown = run(&bench, &["import", "other.json", "--dry-run", "-s", "project"]);
    assert!(shown.err.contains("would take 2 servers"), "{shown:?}");
    assert_eq!(fs::read_to_string(bench.path().join("gantry.json")).expect("a file"), before);
    let expected = [
        "there      left   a server of that name exists already",
        "my-server  taken  {\"command\":\"y\"}",
        "                  note: left out `alwaysAllow`, which means nothing here",
        "                  note: `my server` is called `my-server` here",
        "odd        left   its type `pigeon` is not known here",
        "socket     left   its address `unix:///x` cannot be reached from here",
        "none       left   it has neither `command` nor `url`",
        "self       left   it is this gateway",
        "self2      left   it is this gateway",
        "key        taken  {\"command\":\"z\",\"env\":{\"API_KEY\":\"…\"}}",
        "                  note: `API_KEY` is a secret in plain text",
    ];
    assert_eq!(shown.out.lines().collect::<Vec<_>>(), expected);
    let taken = run(&bench, &["import", "other.json", "--json", "-s", "project"]).json();
    assert_eq!(taken["servers"][1]["taken"], true, "{taken}");
    let written = fs::read_to_string(bench.path().join("gantry.json")).expect("a file");
    let line = r#"{"there": {"command": "x"}, "my-server": {"command": "y"}, "key": {"command": "z", "env": {"API_KEY": "abc"}}}"#;
    assert_eq!(written, before.replace(r#"{"there": {"command": "x"}}"#, line));
}

#[test]
fn what_is_not_there_is_told() {
    let bench = Bench::new("import-none");
    bench.write("broken.json", "{");
    bench.write("broken.toml", "a = = 1\n");
    bench.write("gantry.json", "{}");
    let cases: [(&[&str], _, _); 5] = [
        (&["import", "cursor"], 4, ".cursor/mcp.json"),
        (&["import", "nobody"], 4, "the clients are claude, claude-code"),
        (&["import", "broken.json"], 3, "broken.json:1:1: not valid JSON"),
        (&["import", "broken.toml"], 3, "broken.toml: not valid TOML: line 1"),
        (&["import", "gantry.json", "-s", "project"], 2, "into itself"),
    ];
    for (words, code, expected) in cases {
        let run = run(&bench, words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
    }
}
