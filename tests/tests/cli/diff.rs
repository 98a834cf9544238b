//! `diff`, and tools in more than one version.

use serde_json::{Value, json};

use crate::bench::Bench;

/// A manifest of `test.one` with these required arguments.
fn write(bench: &Bench, file: &str, version: &str, required: &[&str]) {
    let properties: Value =
        required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let manifest = json!({
        "name": "test.one", "version": version, "description": "For a test.",
        "command": ["sh", "-c", format!("echo '\"{version}\"'")],
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "outputSchema": {"type": "string"},
    });
    bench.write(file, &manifest.to_string());
}

#[test]
fn changes_and_what_they_demand() {
    let bench = Bench::new("diff");
    write(&bench, "old.tool.json", "1.0.0", &["a"]);
    write(&bench, "same.tool.json", "1.0.0", &["a"]);
    write(&bench, "bad.tool.json", "1.1.0", &["a", "b"]);
    write(&bench, "good.tool.json", "2.0.0", &["a", "b"]);
    let cases = [
        ("same", 0, "1.0.0 -> 1.0.0: no change"),
        ("bad", 1, "1.0.0 -> 1.1.0: must be 2.0.0 or later"),
        ("bad", 1, "major  inputSchema.properties.b"),
        ("good", 0, "1.0.0 -> 2.0.0: suffices"),
    ];
    for (file, code, expected) in cases {
        let new = format!("{file}.tool.json");
        let run = bench.run(&["tools", "diff", "old.tool.json", &new]);
        assert_eq!(run.code, Some(code), "{file}: {run:?}");
        assert!(run.out.contains(expected), "{file}: {run:?}");
        assert!(!run.out.contains("_meta"), "the version is no change of its own: {run:?}");
    }
    let run = bench.run(&["tools", "diff", "old.tool.json", "bad.tool.json", "--json"]).json();
    assert_eq!(run["changes"][0]["class"], "major", "{run}");
    assert_eq!((&run["demanded"], &run["suffices"]), (&json!("2.0.0"), &json!(false)), "{run}");
    let run = bench.run(&["tools", "diff", "old.tool.json", "echo.none"]);
    assert_eq!(run.code, Some(4), "{run:?}");
}

#[test]
fn older_versions_have_a_name() {
    let bench = Bench::new("versions");
    write(&bench, "tools/old.tool.json", "1.0.0", &[]);
    write(&bench, "tools/new.tool.json", "2.0.0", &["a"]);
    let cases: [(&[&str], _); 3] = [
        (&["call", "test.one", "a=x"], "2.0.0"),
        (&["call", "test.one@1.0.0"], "1.0.0"),
        (&["tools", "diff", "test.one@1.0.0", "test.one"], "1.0.0 -> 2.0.0: suffices"),
    ];
    for (words, expected) in cases {
        let run = bench.run(&[words, &["--tools", "tools"]].concat());
        assert!(run.out.contains(expected), "{words:?}: {run:?}");
    }
}

#[test]
fn a_tool_may_stand_in_the_configuration() {
    let bench = Bench::new("inline");
    let good = json!({"name": "test.in", "version": "1.0.0", "description": "For a test.",
        "command": ["sh", "-c", "echo 1"], "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "integer"}});
    bench.write(
        "gantry.json",
        &format!("{{\"tools\": [{good},\n {{\"name\": \"x.y\",\n \"nmae\": 1}}]}}"),
    );
    let called = bench.run(&["call", "test.in"]);
    assert_eq!(called.out, "1\n", "{called:?}");
    let listed = bench.run(&["tools", "list"]);
    assert!(listed.err.contains("gantry.json:3: unknown key `nmae`"), "{listed:?}");
}

#[test]
fn a_document_tells_of_its_tool_and_can_be_checked() {
    let bench = Bench::new("spec");
    write(&bench, "old.tool.json", "1.0.0", &["a"]);
    let run = bench.run(&["tools", "spec", "test.one", "--tools", "."]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.starts_with("## Tool: `test.one`"), "{run:?}");
    bench.write("MCP_TOOL_SPECIFICATION.md", &run.out);
    let run = bench.run(&["tools", "check", "MCP_TOOL_SPECIFICATION.md"]);
    assert_eq!(run.code, Some(0), "what is written is valid: {run:?}");
    let run = bench.run(&["tools", "list", "--tools", "."]);
    assert!(!run.err.contains("left out"), "the document and the manifest agree: {run:?}");
}
