//! Specification documents: one check everywhere, and a valid document for every tool.

use gantry_tests::upstream_fixture::scripted;
use serde_json::{Value, json};

use crate::bench::Bench;

const DOCUMENT: &str = "MCP_TOOL_SPECIFICATION.md";

/// Writes a tool that needs no file beside its manifest, with this output.
fn tool(bench: &Bench, name: &str, output: (&str, Value)) {
    let mut manifest = json!({
        "name": name, "version": "1.0.0", "description": "For a test.",
        "command": ["sh", "-c", "echo 1"], "inputSchema": {"type": "object", "properties": {}},
    });
    manifest[output.0] = output.1;
    bench.write(&format!("tools/{name}.tool.json"), &manifest.to_string());
}

/// A document that lacks nothing.
fn document(bench: &Bench) -> String {
    tool(bench, "test.good", ("outputSchema", json!({"type": "integer"})));
    let run = bench.run(&["tools", "spec", "test.good", "--tools", "tools"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    std::fs::remove_file(bench.path().join("tools/test.good.tool.json")).expect("a manifest");
    run.out
}

/// What the check says of a path: whether it is valid, and its problems.
fn check(bench: &Bench, path: &str) -> (bool, Vec<(Value, Value)>) {
    let run = bench.run(&["tools", "check", path, "--json"]);
    let found = run.json();
    let problems = found["problems"].as_array().expect("a list").iter();
    let problems = problems.map(|it| (it["line"].clone(), it["message"].clone()));
    (run.code == Some(0), problems.collect())
}

#[test]
fn a_folder_a_file_and_the_registry_agree_on_a_document() {
    let cases = [
        ("", "", true),
        ("### 5. Error Handling", "### Five", false),
        ("### 8. Security Considerations", "### 6. Idempotency", false),
        ("\"tool_name\": \"test.good\"", "\"tool_name\": \"test.bad\"", false),
        ("\"status\": \"failure\"", "\"state\": \"failure\"", false),
        ("**Version**: 1.0.0", "**Version**: one", false),
        ("\"type\": \"object\"", "\"type\": \"objekt\"", false),
        ("\"command\"", "\"comand\"", false),
    ];
    for (from, to, is_valid) in cases {
        let bench = Bench::new("documents");
        let text = document(&bench);
        assert!(text.contains(from), "{from} is not in {text}");
        bench.write(&format!("tools/{DOCUMENT}"), &text.replacen(from, to, 1));
        let (file, folder) = (check(&bench, &format!("tools/{DOCUMENT}")), check(&bench, "tools"));
        assert_eq!(file, folder, "{from} -> {to}");
        assert_eq!(file.0, is_valid, "{from} -> {to}: {file:?}");
        let listed = bench.run(&["tools", "list", "--tools", "tools", "--json"]);
        assert_eq!(listed.out.contains("test_good"), is_valid, "{from} -> {to}: {listed:?}");
    }
}

#[test]
fn every_tool_has_a_valid_document() {
    let bench = Bench::new("documents-all");
    tool(&bench, "test.plain", ("outputSchema", json!({"type": "integer"})));
    tool(&bench, "test.content", ("output", json!("content")));
    let server = scripted(&["well"], json!({}));
    let config = json!({"tools": ["./tools"], "mcpServers": {"srv": server}});
    bench.write("gantry.json", &config.to_string());
    for name in ["test.plain", "test.content", "srv_odd", "srv_well"] {
        let run = bench.run(&["tools", "spec", name]);
        assert_eq!(run.code, Some(0), "{name}: {run:?}");
        assert!(run.out.starts_with(&format!("## Tool: `{name}`")), "{name}: {run:?}");
        bench.write(DOCUMENT, &run.out);
        assert_eq!(check(&bench, DOCUMENT), (true, Vec::new()), "{name}: {}", run.out);
    }
}
