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

use super::super::{check, read, write};
use super::{Folder, told, tool};
use crate::tools::manifest::{Answer, Manifest, Runtime};

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
        any::<i32>()
            .prop_map(|number| ("integer", Some(RawJson::from(serde_json::Value::from(number))))),
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
        schema(),
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
