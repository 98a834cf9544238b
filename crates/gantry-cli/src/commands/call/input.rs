//! The arguments of a call, from wherever the user has put them.

use std::io::{IsTerminal, Read};

use gantry::RawJson;
use gantry_gateway::contract::ToolCall;
use gantry_protocol::JsonLimits;

use crate::args::CallOptions;
use crate::commands::call::arguments::{self, ArgumentError};
use crate::exit::{Code, Exit};

/// The tool that is wanted, and the arguments that came with its name.
pub(crate) struct Wanted {
    pub(crate) name: String,
    base: Option<RawJson>,
}

/// Which tool is wanted: the one that is named, or that of a tool call on standard input.
pub(crate) fn wanted(options: &CallOptions) -> Result<Wanted, Exit> {
    let name = options.name.clone().unwrap_or_default();
    if !(options.contract && name == "-") {
        return Ok(Wanted { name, base: None });
    }
    let text = read_file("-").map_err(|error| unreadable("arguments", "-", &error))?;
    let call = ToolCall::parse(text, JsonLimits::default()).map_err(|error| {
        let hint = "write {\"tool_name\": \"text.count\", \"arguments\": {}}";
        Exit::new(Code::Usage, format!("standard input: {error}")).hint(hint)
    })?;
    Ok(Wanted { name: call.tool_name().to_owned(), base: Some(call.arguments().clone()) })
}

/// Gathers the arguments: a JSON object, if one is given, and the words on top of it.
pub(crate) fn arguments(
    options: &CallOptions,
    wanted: &Wanted,
    schema: &RawJson,
) -> Result<RawJson, Exit> {
    let (dashes, words): (Vec<&String>, Vec<&String>) =
        options.words.iter().partition(|word| *word == "-");
    let places =
        [!dashes.is_empty(), options.args.is_some(), wanted.base.is_some()].map(usize::from);
    if places.iter().sum::<usize>() > 1 {
        let text = "the arguments come from two places";
        return Err(Exit::new(Code::Usage, text).hint("give --args, or standard input"));
    }
    let base = match (&options.args, &wanted.base) {
        (Some(given), _) => object("--args", given_text(given)?)?,
        (None, Some(base)) => base.clone(),
        (None, None) if dashes.is_empty() => RawJson::EMPTY_OBJECT,
        (None, None) => {
            let text = read_file("-").map_err(|error| unreadable("arguments", "-", &error))?;
            object("standard input", text)?
        }
    };
    let words: Vec<String> = words.into_iter().cloned().collect();
    arguments::read(schema, &base, &words, &read_file).map_err(|error| {
        let hint = match error {
            ArgumentError::Json { .. } => "put quotes around JSON: KEY:='{\"a\": 1}'".to_owned(),
            _ => {
                let words = options.source.words();
                format!("`gantry tools show{words} {}` tells what it takes", wanted.name)
            }
        };
        Exit::new(Code::Usage, error.to_string()).hint(hint)
    })
}

fn given_text(given: &str) -> Result<String, Exit> {
    match given.strip_prefix('@') {
        Some(path) => read_file(path).map_err(|error| unreadable("arguments", path, &error)),
        None if given == "-" => {
            read_file("-").map_err(|error| unreadable("arguments", "-", &error))
        }
        None => Ok(given.to_owned()),
    }
}

pub(crate) fn unreadable(what: &str, path: &str, error: &std::io::Error) -> Exit {
    Exit::new(Code::Usage, format!("the {what} cannot be read from `{path}`: {error}"))
}

/// The text of a file; `-` is standard input.
pub(crate) fn read_file(path: &str) -> std::io::Result<String> {
    if path != "-" {
        return std::fs::read_to_string(path);
    }
    let mut input = std::io::stdin();
    if input.is_terminal() {
        crate::render::say("reading from the terminal; end with Ctrl-D");
    }
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    Ok(text)
}

fn object(place: &str, text: String) -> Result<RawJson, Exit> {
    let wrong = |what: String| Exit::new(Code::Usage, format!("{place}: {what}"));
    let value = RawJson::parse(text, JsonLimits::default()).map_err(|it| wrong(it.to_string()))?;
    if value.is_object() {
        return Ok(value);
    }
    Err(wrong("the arguments are not a JSON object".to_owned()).hint("write {\"name\": value}"))
}
