//! What is written is read again as the same, whatever it says.

use std::path::Path;
use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::redact::is_open_variable;
use gantry_protocol::{RawJson, Secret};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::super::{check, describe, read, write};
use super::{Folder, raw, told, tool};
use crate::scripts::manifest::{Answer, Manifest, Runtime};

/// Pieces of Markdown that a careless reader would take for parts of the document.
const PIECES: [&str; 30] = [
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    " ",
    "  ",
    "\t",
    "`",
    "```",
    "```json",
    "~~~",
    "# ",
    "## Tool: `a.b`",
    "### 3. Input Schema (Parameters)",
    "#### Runtime",
    "**Version**: 9.9.9",
    "> ",
    ">",
    "|",
    "\\|",
    "\\",
    "| a | b |",
    "|---|",
    "- ",
    "{\"command\": \"/bin/sh\"}",
    "\"",
    "ü",
    "\u{2028}",
    "🦀",
    "word",
];

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![9 => select(&PIECES[..]).prop_map(str::to_owned), 1 => any::<String>()];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A text that says something, as descriptions must.
fn description() -> impl Strategy<Value = String> {
    (markdown(), markdown()).prop_map(|(before, after)| format!("{before}x{after}"))
}

/// The schema of one property, with a value that fits it as its default.
fn property() -> impl Strategy<Value = RawJson> {
    let kind = prop_oneof![
        Just(("string", None)),
        Just(("boolean", None)),
        markdown().prop_map(|text| ("string", Some(RawJson::string(&text)))),
        any::<i32>().prop_map(|number| ("integer", Some(RawJson::from(Value::from(number))))),
    ];
    (kind, description(), any::<bool>()).prop_map(|((kind, default), text, first)| {
        let schema = ObjectWriter::new().value("type", kind).value("description", &text);
        let key = if first { "default" } else { "examples" };
        let list = default.as_ref().map(|value| RawJson::array([value]));
        let value = if first { default } else { list };
        schema.raw_some(key, value.as_ref()).finish()
    })
}

fn schema() -> impl Strategy<Value = RawJson> {
    let name = prop_oneof!["[a-z_]{1,8}", markdown()];
    proptest::collection::btree_map(name, property(), 0..4).prop_flat_map(|properties| {
        let names: Vec<String> = properties.keys().cloned().collect();
        let count = names.len();
        subsequence(names, 0..=count).prop_map(move |required| {
            let object =
                properties.iter().fold(ObjectWriter::new(), |it, (key, value)| it.raw(key, value));
            ObjectWriter::new()
                .value("type", "object")
                .raw("properties", &object.finish())
                .value("required", &required)
                .finish()
        })
    })
}

fn object() -> impl Strategy<Value = RawJson> {
    proptest::collection::btree_map(markdown(), markdown(), 0..3).prop_map(|members| {
        members
            .iter()
            .fold(ObjectWriter::new(), |object, (key, value)| object.value(key, value))
            .finish()
    })
}

fn manifest(folder: &Path) -> impl Strategy<Value = Manifest> + use<> {
    let started = (
        select(vec![Runtime::Process, Runtime::Binary, Runtime::PythonUvScript]),
        select(vec![folder.join("count"), folder.join("inside/count"), "/bin/sh".into()]),
        select(vec![folder.to_owned(), folder.join("inside"), "/".into()]),
        vec(markdown(), 0..3),
        proptest::collection::btree_map("[A-Z_][A-Z0-9_]{0,5}", any::<String>(), 0..3),
        option::of(1..100_000_u64),
    );
    let told = (description(), option::of(markdown()), option::of(object()), option::of(object()));
    let base = tool(folder);
    (
        started,
        told,
        schema(),
        option::weighted(0.8, schema()),
        "[a-z_]{1,4}(\\.[a-z0-9_]{1,4}){1,2}",
        "[0-9]\\.[1-9][0-9]\\.0(-rc\\.1)?",
    )
        .prop_map(move |(started, told, input_schema, output_schema, name, version)| {
            let (runtime, command, directory, args, env, timeout) = started;
            let (description, title, annotations, metadata) = told;
            let env = env.into_iter().map(|(key, value)| (key, value.replace('\0', "")));
            let env: Vec<(String, String)> = env.collect();
            // A document names variables, it does not hold their values.
            let named = env.iter().filter(|(name, _)| !is_open_variable(name));
            let secrets = named.map(|(_, value)| Secret::new(value.as_str())).collect();
            let timeout = timeout.map(Duration::from_millis);
            let base = base.clone();
            Manifest {
                name,
                written: None,
                warnings: Vec::new(),
                version,
                description,
                runtime,
                command,
                args,
                env,
                secrets,
                directory,
                input_schema,
                output_schema,
                annotations,
                title,
                answer: if timeout.is_some() { Answer::Line } else { Answer::End },
                task: timeout.is_none(),
                timeout,
                memory: timeout.map(|it| 1000 + it.as_secs()),
                metadata,
                source: base.source,
            }
        })
}

#[test]
fn every_manifest_comes_back_and_its_document_is_in_order() {
    let folder = Folder::new(&["count", "inside/count"]);
    let path = folder.document();
    proptest!(ProptestConfig::with_cases(200), |(tool in manifest(&folder.0), windows: bool)| {
        let mut text = write(&tool);
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let lookup = |name: &str| tool.env.iter().find(|it| it.0 == name).map(|it| it.1.clone());
        let tools = read(&path, text.as_bytes(), &lookup);
        prop_assert_eq!(&tools, &vec![Ok(tool.clone())], "{}", text);
        let problems: Vec<_> = check(&path, text.as_bytes()).iter().map(told).collect();
        prop_assert_eq!(problems, Vec::<String>::new(), "{}", text);
    });
}

#[test]
fn several_tools_in_one_document_come_back() {
    let folder = Folder::new(&["count", "inside/count"]);
    let path = folder.document();
    let tools = vec(manifest(&folder.0), 1..4);
    proptest!(ProptestConfig::with_cases(50), |(tools in tools)| {
        let tools: Vec<_> = tools.into_iter().map(|tool| Manifest { env: Vec::new(), secrets: Vec::new(), ..tool }).collect();
        let text: Vec<_> = tools.iter().map(write).collect();
        let back: Result<Vec<_>, _> = read(&path, text.join("\n").as_bytes(), &|_| None).into_iter().collect();
        prop_assert_eq!(back, Ok(tools));
    });
}

/// Schemas that no document would be written with by hand.
fn schemas() -> Vec<Value> {
    let property = |schema: Value| json!({"type": "object", "properties": {"x": schema}});
    let mut required = property(json!({"type": "string", "pattern": "^never guessed$"}));
    required["required"] = json!(["x", "y"]);
    let mut recursive = property(json!({"$ref": "#/$defs/tree"}));
    recursive["$defs"] = json!({"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}});
    vec![
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        property(json!({"type": "string"})),
        property(json!({"enum": ["a|b", "`", "\n", 7]})),
        property(json!({"type": ["array", "null"]})),
        property(json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null})),
        property(json!(true)),
        property(
            json!({"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]}),
        ),
        required,
        recursive,
    ]
}

/// Schemas that only tools of other servers have: these need not say what a manifest must.
fn foreign_schemas() -> Vec<Value> {
    let property = |schema: Value| json!({"type": "object", "properties": {"x": schema}});
    vec![
        json!({"type": "object"}),
        json!({"type": "object", "required": ["x"]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
        property(json!({})),
        property(json!({"description": "No type."})),
        property(json!({"type": "array"})),
        property(json!({"type": "object"})),
        property(json!({"type": "array", "items": {}})),
    ]
}

#[test]
fn a_tool_of_the_registry_comes_back_whatever_its_schemas() {
    let folder = Folder::new(&["count"]);
    let outputs = schemas().into_iter().map(Some).chain([None]);
    let outputs: Vec<_> = outputs.chain([Some(json!({"type": "string"}))]).collect();
    for (input, output) in schemas().iter().flat_map(|it| outputs.iter().map(move |out| (it, out)))
    {
        let tool = Manifest {
            input_schema: raw(input),
            output_schema: output.as_ref().map(raw),
            env: Vec::new(),
            secrets: Vec::new(),
            ..tool(&folder.0)
        };
        let text = write(&tool);
        let problems: Vec<_> =
            check(&folder.document(), text.as_bytes()).iter().map(told).collect();
        assert_eq!(problems, Vec::<String>::new(), "{text}");
        let back = read(&folder.document(), text.as_bytes(), &|_| None);
        assert_eq!(back, vec![Ok(tool)], "{text}");
    }
}

/// The document of a tool that runs elsewhere is valid, and registers nothing.
#[test]
fn a_tool_that_runs_elsewhere_has_a_valid_document() {
    let names = ["create_issue", "getUser", "a-b.c/d", "x"];
    let texts = [json!(null), json!(""), json!(" \n"), json!("## Tool: `a.b`\r\n```\n> x")];
    let annotations = [json!(null), json!({"readOnlyHint": "yes", "x": 1}), json!("none")];
    let inputs: Vec<_> = schemas().into_iter().chain(foreign_schemas()).collect();
    let outputs: Vec<_> = inputs.iter().cloned().chain([json!({"type": "array"})]).collect();
    let folder = Folder::new(&[]);
    for number in 0..inputs.len() * 12 {
        let mut definition =
            json!({"name": names[number % 4], "inputSchema": inputs[number % inputs.len()]});
        let others = [
            ("description", &texts[number / 3 % 4]),
            ("title", &texts[number / 2 % 4]),
            ("annotations", &annotations[number % 3]),
            (
                "outputSchema",
                if number % 5 == 0 { &Value::Null } else { &outputs[number % outputs.len()] },
            ),
        ];
        for (key, value) in others.into_iter().filter(|(_, value)| !value.is_null()) {
            definition[key] = value.clone();
        }
        for server in [Some(("git`hub", "own|name")), None] {
            let text = describe(&raw(&definition), server);
            let problems: Vec<_> =
                check(&folder.document(), text.as_bytes()).iter().map(told).collect();
            assert_eq!(problems, Vec::<String>::new(), "{definition}\n{text}");
            assert_eq!(read(&folder.document(), text.as_bytes(), &|_| None), Vec::new(), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn nothing_makes_reading_or_checking_panic(pieces in vec(select(&PIECES[..]), 0..60), noise: Vec<u8>) {
        let text = pieces.concat();
        for bytes in [text.as_bytes(), noise.as_slice()] {
            let _ = read(Path::new("/nowhere/x.md"), bytes, &|_| None);
            prop_assert!(check(Path::new("/nowhere/x.md"), bytes).is_sorted_by_key(|it| it.line));
        }
    }
}
