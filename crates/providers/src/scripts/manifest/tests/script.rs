//! Manifests inside Python scripts.

use std::time::Duration;

use gantry_gateway::ToolEntry;
use serde_json::json;

use super::super::Runtime;
use super::{Folder, HEAD, as_value, script, script_tool, told};

#[test]
fn a_whole_script() {
    let manifest = script_tool(
        "title = 'Count'
        read_only = true
        open_world = false
        timeout = '5s'
        standby = 2
        env = { KEY = '${TOKEN}' }
        metadata = { cache_ttl = 60, module = 'words' }

        [tool.gantry.input.properties.text]
        type = 'string'
        [tool.gantry.input.properties.limit]
        type = 'integer'
        default = 0x10
        maximum = 1.5
        [tool.gantry.output.properties.words]
        type = 'integer'",
    );
    let manifest = manifest.unwrap();
    assert_eq!(manifest.runtime, Runtime::PythonUvScript);
    assert_eq!(manifest.command, manifest.source);
    assert_eq!(manifest.directory, manifest.source.parent().unwrap());
    assert_eq!(manifest.env, [("KEY".to_owned(), "secret".to_owned())]);
    assert_eq!(manifest.timeout, Some(Duration::from_secs(5)));
    let definition = manifest.definition();
    assert_eq!(
        definition.as_str(),
        concat!(
            r#"{"name":"text.count","title":"Count","description":"Counts.","#,
            r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"},"#,
            r#""limit":{"type":"integer","default":16,"maximum":1.5}},"required":["text"]},"#,
            r#""outputSchema":{"type":"object","properties":{"words":{"type":"integer"}},"#,
            r#""required":["words"]},"annotations":{"readOnlyHint":true,"openWorldHint":false},"#,
            r#""_meta":{"gantry/tool":{"version":"1.0.0","module":"words","destructive":false,"#,
            r#""cache_ttl":60}}}"#,
        )
    );
    ToolEntry::new(definition).unwrap();
}

#[test]
fn schemas_of_scripts() {
    let cases = [
        ("[tool.gantry.input]", json!({"type": "object", "properties": {}})),
        (
            "[tool.gantry.input]\nadditionalProperties = false",
            json!({"type": "object", "additionalProperties": false, "properties": {}}),
        ),
        (
            "input = { required = [], properties = { a = { type = 'string' } } }",
            json!({"type": "object", "required": [], "properties": {"a": {"type": "string"}}}),
        ),
        (
            "input = { type = 'object', properties = { a = { type = 'string', default = 1979-05-27 } } }",
            json!({"type": "object", "properties": {"a": {"type": "string", "default": "1979-05-27"}}}),
        ),
    ];
    for (lines, expected) in cases {
        let manifest = script_tool(lines).unwrap();
        assert_eq!(as_value(&manifest.input_schema), expected, "{lines}");
        assert_eq!(manifest.annotations, None, "{lines}");
    }
    let listed =
        script_tool("input = {}\noutput = { type = 'array', items = { type = 'string' } }");
    let expected = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!(as_value(listed.unwrap().output_schema.as_ref().unwrap()), expected);
    let content = script_tool("input = {}\noutput = 'content'").unwrap();
    assert_eq!(content.output_schema, None);
}

#[test]
fn wrong_scripts() {
    // `[tool.gantry]` stands in line 5, and the first line given here in line 9.
    let cases = [
        ("", "5: the tool has no input schema; add `[tool.gantry.input.properties.NAME]`"),
        ("input = {}\noutput = 'text'", "10: `output` has the wrong form; write \"content\""),
        ("input = {}\noutput = 1", "10: `output` is not a table; write `[tool.gantry.output.prop"),
        ("[tool.gantry.input.properties.a]", "9: `a` in the input schema has no type; add `type`"),
        ("readonly = true\ninput = {}", "9: unknown key `readonly`; write `read_only`"),
        ("input = {}\nread_only = 'yes'", "10: `read_only` has the wrong form; write true or"),
        ("input = {}\ntimeout = 0", "10: `timeout` has the wrong form; write milliseconds"),
        ("input = {}\nenv = { A = '${NO}' }", "10: the variable `NO`, needed by `A`"),
        ("input = 1", "9: `input` is not a table; write `[tool.gantry.input.properties.NAME]`"),
        ("input = { type = 'string' }", "9: the input schema is not that of an object; remove"),
        ("\n[tool.gantry.input.text]", "10: `text` is no part of a schema; write `[tool.gantry.in"),
        ("[tool.gantry.input.properties]\na = 'string'", "10: `a` is not a table; write `[tool"),
        ("[tool.gantry.input]\nproperties = 1", "10: `properties` is not a table; write"),
        ("[tool.gantry.input]\nmaxProperties = inf", "10: JSON has no such number; write"),
        ("[tool.gantry.output]\nx = 99999999999999999999", "10: JSON has no such number; write"),
        (
            "input = {}\ninput = {}",
            "10: the script block is not valid TOML: duplicate key; correct",
        ),
        ("input = {}\nx = = 1", "10: the script block is not valid TOML: "),
    ];
    for (lines, expected) in cases {
        let problem = told(&script_tool(lines).unwrap_err());
        assert!(problem.starts_with(expected), "{lines}: {problem}");
    }
}

#[test]
fn wrong_blocks() {
    let good = script(&format!("{HEAD}input = {{}}"));
    let deep = format!("[tool.gantry.{}a]", "a.".repeat(5000));
    let cases: [(Vec<u8>, &str); 6] = [
        (format!("{good}\n{good}").into(), "14: the script has two script blocks; keep one"),
        (good.trim_end().trim_end_matches('/').into(), "3: the script block has no end; end it"),
        ([good.replace("Counts", "\u{1}").into_bytes()].concat(), "8: the script block is not va"),
        (
            good.replace("Counts", "ä").into_bytes().into_iter().filter(|it| *it != 0xc3).collect(),
            "3: the script block is not UTF-8; save",
        ),
        (
            good.replace("[tool.gantry]", "[tool]\n# gantry = 1 # tool.gantry\n# [x]").into(),
            "6: `tool.gantry` is not a table; write",
        ),
        (good.replace("[tool.gantry]", &deep).into(), "3: the script block is not valid TOML"),
    ];
    for (source, expected) in cases {
        let problem = Folder::new().with("a.py", source).read("a.py").unwrap().unwrap_err();
        assert!(told(&problem).starts_with(expected), "{}", told(&problem));
    }
}
