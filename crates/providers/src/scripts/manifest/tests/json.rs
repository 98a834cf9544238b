//! Manifests in JSON.

use std::time::Duration;

use gantry_gateway::ToolEntry;
use serde_json::json;

use super::super::Runtime;
use super::{Folder, as_value, json_tool, json_with, told};

#[test]
fn a_whole_json_manifest() {
    let (folder, read) = json_tool(&json!({
        "title": "Count", "runtime": "binary", "command": ["./count", "-a"], "args": ["-b"],
        "env": {"KEY": "${TOKEN}"}, "cwd": ".", "outputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": true}, "timeout": "2s", "standby": 3,
        "metadata": {"cache_ttl": 60},
    }));
    let manifest = read.unwrap();
    assert_eq!(manifest.runtime, Runtime::Binary);
    assert_eq!(manifest.command, folder.0.join("./count"));
    assert_eq!(manifest.args, ["-a", "-b"]);
    assert_eq!(manifest.env, [("KEY".to_owned(), "secret".to_owned())]);
    assert_eq!(manifest.directory, folder.0.join("."));
    assert_eq!(manifest.timeout, Some(Duration::from_secs(2)));
    assert_eq!(
        manifest.metadata.as_ref().map(as_value),
        Some(json!({"cache_ttl": 60, "standby": 3}))
    );
    assert_eq!(manifest.source, folder.0.join("count.tool.json"));
    let definition = manifest.definition();
    let expected = json!({
        "name": "text.count", "title": "Count", "description": "Counts.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": true},
        "_meta": {"gantry/tool": {
            "version": "1.0.0", "module": "text", "destructive": false, "cache_ttl": 60,
        }},
    });
    assert_eq!(as_value(&definition), expected);
    ToolEntry::new(definition).unwrap();
}

#[test]
fn where_programs_are_found() {
    let cases = [
        (json!({}), "count"),
        (json!({"command": "count"}), "count"),
        (json!({"command": "sh"}), "/sh"),
        (json!({"command": ["/bin/sh", "-c", "true"]}), "/bin/sh"),
        (json!({"runtime": "python-uv-script", "command": "count.tool.json"}), "count.tool.json"),
    ];
    for (changes, outcome_class) in cases {
        let (_folder, read) = json_tool(&changes);
        let command = read.unwrap().command;
        assert!(
            command.is_absolute() && command.to_str().unwrap().ends_with(outcome_class),
            "{changes}"
        );
    }
}

#[test]
fn a_tool_that_answers_with_content_has_no_output_schema() {
    let changes = json!({"output": "content", "outputSchema": null});
    let manifest = json_tool(&changes).1.unwrap();
    assert_eq!(manifest.output_schema, None);
    assert_eq!(manifest.definition().get("outputSchema"), None);
}

#[test]
fn what_may_be_destroyed() {
    let cases = [
        (json!({}), false),
        (json!({"annotations": {"destructiveHint": true}}), true),
        (json!({"annotations": {"readOnlyHint": true}}), false),
        (json!({"annotations": {"destructiveHint": false}}), false),
        (json!({"metadata": {"destructive": false}}), false),
        (
            json!({"metadata": {"destructive": true}, "annotations": {"destructiveHint": false}}),
            true,
        ),
    ];
    for (changes, expected) in cases {
        let definition = json_tool(&changes).1.unwrap().definition();
        let stated = definition.at(&["_meta", "gantry/tool", "destructive"]).unwrap();
        assert_eq!(stated.read(), Some(expected), "{changes}");
    }
}

#[test]
fn wrong_json_manifests() {
    // The members stand in the order of the alphabet, from line 2 on.
    let cases = [
        (json!({"name": null}), "1: the tool has no name; add one"),
        (json!({"name": "Count"}), "4: `Count` is no name for a tool; write module and tool"),
        (json!({"name": 1}), "4: `name` has the wrong form; write a string"),
        (json!({"version": "1"}), "6: `1` is no semantic version; write three numbers"),
        (json!({"description": " "}), "2: the tool has no description; add one"),
        (json!({"inputSchema": null}), "1: the tool has no input schema; add `inputSchema`"),
        (json!({"inputSchema": true}), "3: `inputSchema` has the wrong form; write an object"),
        (json!({"inputSchema": {}}), "3: the input schema is not that of an object; add \"type\""),
        (json!({"outputSchema": 1}), "5: `outputSchema` has the wrong form"),
        (json!({"outputSchema": {}}), "5: the output schema has no type; add `type` to it"),
        (
            json!({"output": "content"}),
            "6: a tool that answers with content has no output schema; remove `outputSchema`",
        ),
        (
            json!({"output": {"type": "string"}}),
            "5: `output` has the wrong form; write \"content\"",
        ),
        (json!({"output": "text"}), "5: `output` has the wrong form; write \"content\""),
        (json!({"outputSchema": {"type": "object"}}), "5: the output schema does not say what the"),
        (
            json!({"outputSchema": {"type": "array", "items": {"type": "array"}}}),
            "5: `items` of the output schema does not say what the list holds; add `items`",
        ),
        (
            json!({"inputSchema": {"type": "object", "properties": {"a": {}}}}),
            "3: `a` in the input schema has no type; add `type` to it",
        ),
        (json!({"input_schema": {}}), "4: unknown key `input_schema`; write `inputSchema`"),
        (json!({"zebra": 1}), "7: unknown key `zebra`; remove it; the keys are name, version"),
        (json!({"runtime": "perl"}), "6: there is no runtime `perl`; write `process`, `binary`"),
        (json!({"command": []}), "2: the tool has no command; add `command`"),
        (json!({"command": ""}), "2: the tool has no command; add `command`"),
        (json!({"command": [1]}), "2: `command` has the wrong form; write a list of strings"),
        (json!({"command": "no_such"}), "2: the program `no_such` is not there; put it into"),
        (json!({"command": "../no"}), "2: the program `../no` is not there; put it into"),
        (json!({"args": "x"}), "2: `args` has the wrong form; write a list of strings"),
        (json!({"cwd": "gone"}), "2: the folder "),
        (json!({"env": {"A": 1}}), "3: `env` has a wrong entry `A`; write names with strings"),
        (json!({"env": {"A=": "1"}}), "3: `env` has a wrong entry `A=`"),
        (
            json!({"env": {"A": "${NO}"}}),
            "3: the variable `NO`, needed by `A` in `env`, is not set",
        ),
        (json!({"env": {"A": "${NO"}}), "3: `A` in `env` has `${` without an end; close it"),
        (json!({"timeout": "soon"}), "6: `timeout` has the wrong form; write milliseconds"),
        (json!({"annotations": {"readOnlyHint": "yes"}}), "2: the annotation `readOnlyHint`"),
        (json!({"metadata": []}), "4: `metadata` has the wrong form; write an object"),
        (json!({"runtime": "python-uv-script"}), "1: the program `count.py` is not there"),
    ];
    for (changes, expected) in cases {
        let problem = told(&json_tool(&changes).1.unwrap_err());
        assert!(problem.starts_with(expected), "{changes}: {problem}");
    }
}

#[test]
fn texts_that_are_no_manifest() {
    let deep = ["[".repeat(2000), "]".repeat(2000)].concat();
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(1024 * 1024));
    let cases: [(&[u8], &str); 9] = [
        (b"", "1: the manifest is not valid JSON: EOF while parsing a value; correct"),
        (b"{\n\"name\": }", "2: the manifest is not valid JSON: expected value; correct"),
        (b"{\"timeout\": NaN}", "1: the manifest is not valid JSON"),
        (b"[]", "1: the manifest is not a JSON object; write an object"),
        (b"{\n\"\xff\": 1}", "2: the manifest is not UTF-8; save"),
        (b"\n\n{\"nam\": \"a.b\"}", "3: unknown key `nam`; write `name`"),
        (b"{\"name\": \"a.b\",\n\"name\": \"a.c\"}", "2: the key `name` is given twice; remove"),
        (deep.as_bytes(), "the manifest is nested deeper than 128; make it flatter"),
        (large.as_bytes(), "the manifest has more than 1048576 bytes; make it smaller"),
    ];
    for (text, expected) in cases {
        let problem = Folder::new().with("tool.json", text).read("tool.json").unwrap().unwrap_err();
        assert!(told(&problem).starts_with(expected), "{}", told(&problem));
    }
}

#[test]
fn a_program_must_be_executable() {
    let folder = Folder::new().with("count", "").with("count.tool.json", json_with(&json!({})));
    let problem = folder.read("count.tool.json").unwrap().unwrap_err();
    assert!(problem.message.ends_with("count is not executable"), "{problem}");
    assert!(problem.advice.starts_with("run: chmod +x "), "{problem}");
}
