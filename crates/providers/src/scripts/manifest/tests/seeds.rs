//! Registrations as other systems write them, and what is left out.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::super::{ToolSettings, Tools};
use super::{Folder, as_value, environment, json_tool};
use crate::scripts::manifest::read_json;

/// An entry with nothing but the members that a decorator produces.
fn entry() -> Value {
    json!({
        "name": "memory_put",
        "description": "Stores a memory.",
        "inputSchema": {
            "type": "object",
            "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
            "required": ["key"],
        },
        "metadata": {
            "module": "codomyrmex.agentic_memory", "destructive": true, "deprecated_in": "2.0.0",
            "cache_ttl": 10,
        },
        "command": ["sh", "-c", "echo '{}'"],
    })
}

#[test]
fn an_entry_without_version_and_output_schema() {
    let folder = Folder::new();
    let read = read_json(&folder.0.join("tool.json"), &entry().into(), &environment).unwrap();
    assert_eq!(read.name, "codomyrmex.agentic_memory.memory_put");
    assert_eq!((read.written.as_deref(), &*read.version), (Some("memory_put"), "1.0.0"));
    assert_eq!(read.output_schema, None);
    let told: Vec<_> = read.warnings.iter().map(|it| it.message.as_str()).collect();
    let expected = [
        "the tool has no version, so 1.0.0 is assumed",
        "the tool has no output schema, so its results are not checked",
    ];
    assert_eq!(told, expected);
    assert!(read.warnings.iter().all(|it| it.is_warning && it.advice.starts_with("add ")));
    let definition = as_value(&read.definition());
    assert_eq!(definition["description"], "Stores a memory. (Deprecated in 2.0.0.)");
    assert_eq!(definition["annotations"], json!({"destructiveHint": true}));
    assert!(definition.get("outputSchema").is_none(), "{definition}");
    assert_eq!(read.cache_ttl(), Some(Duration::from_secs(10)));
}

#[test]
fn strict_mode_refuses_what_is_left_out() {
    let text = entry().to_string();
    for (strict, count, words) in [(false, 1, "is assumed"), (true, 0, "the tool has no version")] {
        let folder = Folder::new().with("tool.tool.json", &text);
        let settings = ToolSettings { strict, ..ToolSettings::default() };
        let tools = Tools::open(vec![folder.0.clone()], settings);
        let problems = tools.problems();
        assert_eq!(tools.count(), count, "{problems:?}");
        let told = problems.iter().find(|it| it.message.contains(words));
        assert!(told.is_some(), "{problems:?}");
        assert_eq!(problems.iter().any(|it| !it.is_warning), strict, "{problems:?}");
    }
}

#[test]
fn what_the_metadata_says_of_destruction_is_an_annotation() {
    let cases = [
        (json!({}), json!(null)),
        (json!({"metadata": {"destructive": true}}), json!({"destructiveHint": true})),
        (json!({"metadata": {"destructive": false}}), json!({"destructiveHint": false})),
        (
            json!({"metadata": {"destructive": true}, "annotations": {"idempotentHint": true}}),
            json!({"idempotentHint": true, "destructiveHint": true}),
        ),
        (
            json!({"metadata": {"destructive": true}, "annotations": {"destructiveHint": false}}),
            json!({"destructiveHint": false}),
        ),
    ];
    for (changes, expected) in cases {
        let definition = as_value(&json_tool(&changes).1.unwrap().definition());
        assert_eq!(definition["annotations"], expected, "{changes}");
    }
}

#[test]
fn a_name_without_a_dot_belongs_to_its_folder() {
    let folder = Folder::new().program("My Tools/count");
    let text = json!({"name": "count", "version": "1.0.0", "description": "Counts.",
        "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "string"},
        "command": "count"});
    let read = |metadata: Value| {
        let mut text = text.clone();
        text["metadata"] = metadata;
        read_json(&folder.0.join("My Tools/tool.json"), &text.into(), &environment).unwrap().name
    };
    assert_eq!(read(json!({})), "my_tools.count");
    assert_eq!(read(json!({"module": "Text-Tools"})), "text_tools.count");
}

#[test]
fn a_tool_of_mcp_registrar() {
    let manifest = json!({
        "id": "fetch-url", "name": "Fetch", "version": "0.1.0", "runtime": "python-uv-script",
        "description": "Fetches.",
        "entry": {"script": "tools/fetch/fetch.py", "uv_args": ["--quiet"]},
        "schema": {"parameters": {"type": "object"}, "returns": {"type": "object"}},
        "policy": {"timeout_ms": 1500, "memory_bytes": 1048576, "network": "deny",
            "env_allowlist": ["TOKEN"]},
        "metadata": {"categories": ["net"]},
    });
    let folder = Folder::new()
        .with("tools/fetch/fetch.py", "")
        .with("tools/fetch/tool.json", manifest.to_string());
    let read = folder.read("tools/fetch/tool.json").unwrap().unwrap();
    assert_eq!((&*read.name, read.written.as_deref()), ("fetch.fetch_url", Some("fetch-url")));
    assert_eq!((read.title.as_deref(), &*read.version), (Some("Fetch"), "0.1.0"));
    assert_eq!(read.command, folder.0.join("tools/fetch/fetch.py"));
    assert_eq!(read.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(read.memory, Some(1024 * 1024));
    assert_eq!(read.env, [("TOKEN".to_owned(), "secret".to_owned())]);
    assert!(read.output_schema.is_some());
    let told = read.warnings.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("; ");
    for words in
        ["has network, which Gantry does not enforce", "`uv_args`", "input schema", "output"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn a_program_without_a_manifest_is_reported() {
    let tool = |command: &str| super::json_with(&json!({"name": "x.a", "command": command}));
    let folder = Folder::new()
        .program("used")
        .with("a.tool.json", tool("./used"))
        .with("argument.sh", "echo")
        .with("b.tool.json", super::json_with(&json!({"command": ["sh", "argument.sh"]})))
        .program("broken")
        .with("broken.tool.json", "{")
        .program("forgotten")
        .with("script.sh", "#!/bin/sh\n")
        .with("orphan.py", "#!/usr/bin/env python\n")
        .with("module.py", "x = 1\n")
        .with("readme.md", "text\n");
    let tools = Tools::open(vec![folder.0.clone()], ToolSettings::default());
    let problems = tools.problems();
    let reported = problems.iter().filter(|it| it.is_warning);
    let files: Vec<_> = reported.map(|it| it.file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(files, ["forgotten", "orphan.py", "script.sh"], "{problems:?}");
    assert!(problems.iter().any(|it| it.advice.contains("forgotten.tool.json")), "{problems:?}");
}
