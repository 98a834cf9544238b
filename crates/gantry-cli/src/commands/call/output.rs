//! The result of a call, for people and for pipes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gantry::RawJson;
use gantry_gateway::Outcome;
use gantry_gateway::contract::{ToolResult, ValidationKind};
use serde_json::Value;

use crate::exit::{Code, Exit};
use crate::render;

/// Shows a result: as it is when `json` is wanted, else what it says.
pub(crate) fn show(result: &RawJson, json: bool) -> Result<(), Exit> {
    let failed = result.get("isError").and_then(|flag| flag.read()).unwrap_or(false);
    if json {
        render::print(&render::pretty(result))?;
        return if failed { Err(Exit::silent(code(result))) } else { Ok(()) };
    }
    let blocks: Vec<RawJson> =
        result.get("content").map(|it| it.elements().collect()).unwrap_or_default();
    if failed {
        let texts: Vec<String> = blocks.iter().filter_map(text_of).collect();
        return Err(Exit::new(code(result), texts.join("\n")));
    }
    match result.get("structuredContent").filter(|value| repeats(&blocks, value)) {
        Some(value) => render::print_foreign(&plain(&value)),
        None => show_blocks(&blocks),
    }
}

/// Shows the tool result of the strict contract, to which every failure comes too.
pub(crate) fn contract(outcome: &Outcome) -> Result<(), Exit> {
    let result = ToolResult::from_outcome(outcome);
    render::print(&render::pretty(&result.to_json()))?;
    match result.error() {
        Some(error) => {
            Err(Exit::silent(meaning(error.error_type.as_str(), error.error_details.as_ref())))
        }
        None => Ok(()),
    }
}

/// The exit code of a result that is marked as an error.
fn code(result: &RawJson) -> Code {
    let error = result.at(&["_meta", "gantry/error"]);
    let stated = error.as_ref().and_then(|error| error.get("error_type")?.to_text());
    let details = error.as_ref().and_then(|error| error.get("error_details"));
    meaning(stated.as_deref().unwrap_or_default(), details.as_ref())
}

/// What the failure of a tool means as an exit code.
fn meaning(error_type: &str, details: Option<&RawJson>) -> Code {
    let kind = details.and_then(ValidationKind::read);
    match error_type {
        "ValidationError" if kind.is_some_and(ValidationKind::is_of_tool) => Code::Failed,
        "ValidationError" => Code::Usage,
        "TimeoutError" => Code::Timeout,
        "PermissionError" | "AuthenticationError" | "ApiLimitExceeded" => Code::Refused,
        "ToolNotFoundError" | "ResourceNotFound" | "FileNotFoundError" => Code::NotFound,
        "TransportError" => Code::Unreachable,
        _ => Code::Failed,
    }
}

/// Whether the blocks say only what the structured value says.
fn repeats(blocks: &[RawJson], value: &RawJson) -> bool {
    let same = |text: String| {
        let parsed = serde_json::from_str::<Value>(&text).ok();
        parsed.is_some() && parsed == value.read()
    };
    match blocks {
        [] => true,
        [block] => text_of(block).is_some_and(same),
        _ => false,
    }
}

/// A string without its quotes, anything else as JSON over several lines.
fn plain(value: &RawJson) -> String {
    value.to_text().unwrap_or_else(|| render::pretty(value))
}

fn show_blocks(blocks: &[RawJson]) -> Result<(), Exit> {
    let is_only = blocks.len() == 1;
    for block in blocks {
        match (text_of(block), bytes_of(block)) {
            (Some(text), _) => render::print_foreign(&text)?,
            (None, Some((kind, bytes))) => show_bytes(&kind, &bytes, is_only)?,
            (None, None) => render::print(&render::pretty(block))?,
        }
    }
    Ok(())
}

/// What is not text goes into a pipe when it is all there is, and never to a terminal.
fn show_bytes(kind: &str, bytes: &[u8], is_only: bool) -> Result<(), Exit> {
    let size = bytes.len();
    if is_only && !render::is_watched() {
        render::say(&format!("{kind}, {size} bytes"));
        return render::write(bytes);
    }
    let advice = if is_only { "`> FILE` keeps it" } else { "--json has it" };
    render::say(&format!("{kind}, {size} bytes, not shown; {advice}"));
    Ok(())
}

/// The text of a block that is to be read.
fn text_of(block: &RawJson) -> Option<String> {
    let text = |path: &[&str]| block.at(path).and_then(|it| it.to_text());
    match text(&["type"])?.as_str() {
        "text" => text(&["text"]),
        "resource" => text(&["resource", "text"]),
        "resource_link" => text(&["uri"]),
        _ => None,
    }
}

/// The type and the bytes of a block that is an image, a sound or a file.
fn bytes_of(block: &RawJson) -> Option<(String, Vec<u8>)> {
    let text = |path: &[&str]| block.at(path).and_then(|it| it.to_text());
    let (data, kind) = match text(&["type"])?.as_str() {
        "image" | "audio" => (text(&["data"])?, text(&["mimeType"])),
        "resource" => (text(&["resource", "blob"])?, text(&["resource", "mimeType"])),
        _ => return None,
    };
    let bytes = STANDARD.decode(data).ok()?;
    Some((render::one_line(&kind.unwrap_or_else(|| "bytes".to_owned())), bytes))
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, repeats, text_of};
    use gantry::RawJson;

    #[test]
    fn structured_content_that_the_text_repeats() {
        let cases = [
            ("[]", "1", true),
            (r#"[{"type":"text","text":"{\"a\": 1}"}]"#, r#"{"a":1}"#, true),
            (r#"[{"type":"text","text":"one"}]"#, r#"{"a":1}"#, false),
            (r#"[{"type":"text","text":"1"},{"type":"text","text":"1"}]"#, "1", false),
            (r#"[{"type":"image","data":"","mimeType":"image/png"}]"#, "1", false),
        ];
        for (blocks, value, expected) in cases {
            let blocks: Vec<RawJson> = RawJson::from_static(blocks).elements().collect();
            assert_eq!(repeats(&blocks, &RawJson::from_static(value)), expected, "{blocks:?}");
        }
    }

    #[test]
    fn blocks() {
        let cases = [
            (r#"{"type":"text","text":"a"}"#, Some("a"), None),
            (r#"{"type":"resource_link","uri":"a:b"}"#, Some("a:b"), None),
            (r#"{"type":"resource","resource":{"text":"a"}}"#, Some("a"), None),
            (r#"{"type":"resource","resource":{"blob":"YQ=="}}"#, None, Some(("bytes", "a"))),
            (
                r#"{"type":"image","data":"YQ==","mimeType":"image/png"}"#,
                None,
                Some(("image/png", "a")),
            ),
            (r#"{"type":"image","data":"!"}"#, None, None),
            (r#"{"type":"other"}"#, None, None),
        ];
        for (block, text, bytes) in cases {
            let raw = RawJson::from_static(block);
            assert_eq!(text_of(&raw).as_deref(), text, "{block}");
            let expected = bytes.map(|(kind, text)| (kind.to_owned(), text.as_bytes().to_vec()));
            assert_eq!(bytes_of(&raw), expected, "{block}");
        }
    }
}
