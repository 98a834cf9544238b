//! What one line of JSON means that a program printed: a tool result of the contract, MCP content, a
//! failure, or plain data.

use gantry_gateway::contract::ToolResult;
use gantry_gateway::{ErrorKind, Schema};
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_protocol::{JsonLimits, RawJson};

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";
const IS_ERROR: &str = "isError";

/// Why a line is no result: what kind of error it is, and what the tool did.
pub(super) type Fault = (ErrorKind, String);

/// What is known of the tool that prints.
#[derive(Clone, Copy)]
pub(crate) struct Printing<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its output schema as it was written; none for a tool that answers with content.
    pub(crate) source: Option<&'a RawJson>,
    /// The same, compiled.
    pub(crate) schema: Option<&'a Schema>,
}

impl Printing<'_> {
    /// The result of `tools/call` that a value means.
    pub(super) fn result(&self, value: RawJson) -> Result<RawJson, Fault> {
        let fits = |value: &RawJson| self.fits(value);
        let fits: &dyn Fn(&RawJson) -> bool = &fits;
        match ToolResult::read(&value, self.describes("status").then_some(fits)) {
            Some(Ok(result)) => return Ok(result.to_call_result()),
            Some(Err(error)) => {
                let what = format!("returned an invalid tool result: {error}");
                return Err((ErrorKind::BrokenContract, what));
            }
            None => {}
        }
        if value.get(CONTENT).is_some_and(|content| is_blocks(&content)) {
            return self.content(value);
        }
        let is_failure = value.get(IS_ERROR).is_some_and(|flag| flag.as_str() == "true");
        match is_failure && !self.describes(IS_ERROR) {
            true => Ok(failure(&value)),
            false => Ok(self.data(&value)),
        }
    }

    /// MCP content passes as it is. Where an output schema promises more, it is looked for there.
    fn content(&self, value: RawJson) -> Result<RawJson, Fault> {
        let failed = value.get(IS_ERROR).is_some_and(|flag| flag.as_str() == "true");
        let has_structured = value.get(STRUCTURED).is_some_and(|it| !it.is_null());
        if self.schema.is_none() || failed || has_structured {
            return Ok(value);
        }
        let content = value.get(CONTENT).unwrap_or(RawJson::NULL);
        let in_text = content.elements().filter_map(|block| parsed(&block));
        // The schema may describe the content itself.
        let whole = self.describes(CONTENT).then(|| value.clone());
        let Some(found) = in_text.chain(whole).find(|found| self.fits(found)) else {
            let what = "printed content without `structuredContent`, and no text in it is JSON that \
                        fits the tool's output schema; declare `output: \"content\"` in place of the \
                        output schema, or print `structuredContent` beside the content";
            return Err((ErrorKind::BrokenPromise, what.to_owned()));
        };
        Ok(value.edit().set(STRUCTURED, found).apply())
    }

    /// A value in the form of a result: a string as text, anything else as JSON.
    fn data(&self, value: &RawJson) -> RawJson {
        let string = value.to_text();
        // A string that no schema promises is text and nothing else.
        let structured = (string.is_none() || self.source.is_some()).then_some(value);
        let text = string.unwrap_or_else(|| value.compact().to_string());
        ObjectWriter::new()
            .array(CONTENT, [&block(&text)])
            .raw_some(STRUCTURED, structured)
            .value(IS_ERROR, &false)
            .finish()
    }

    /// Whether the output schema has a property of this name.
    fn describes(&self, name: &str) -> bool {
        self.source.is_some_and(|schema| schema.at(&["properties", name]).is_some())
    }

    /// Whether a value fits the output schema. What takes long to check counts as fitting: it is
    /// checked again before the result goes out, where that holds up nobody.
    fn fits(&self, value: &RawJson) -> bool {
        self.schema.is_some_and(|schema| !schema.is_quick(value) || schema.check(value).is_ok())
    }
}

/// The JSON that a block of text holds.
fn parsed(block: &RawJson) -> Option<RawJson> {
    let is_text = block.get("type").is_some_and(|it| it.as_text() == Some("text"));
    let text = block.get("text").filter(|_| is_text)?.to_text()?;
    RawJson::parse(text, JsonLimits::default()).ok()
}

/// Whether a value is a list of content blocks. A list of anything else is data that happens to be
/// called `content`, and clients would stumble over it.
fn is_blocks(content: &RawJson) -> bool {
    let is_block = |block: RawJson| block.get("type").is_some_and(|it| it.to_text().is_some());
    content.kind() == JsonKind::Array && content.elements().all(is_block)
}

/// An object that says it is an error, and has no content: its other members are what it says.
fn failure(value: &RawJson) -> RawJson {
    let kept = [IS_ERROR, STRUCTURED, "_meta"];
    let rest: Vec<_> = value.members().filter(|it| !kept.contains(&&*it.key())).collect();
    let text = match rest.as_slice() {
        [] => "the tool failed and did not say why".to_owned(),
        [only] if only.value().to_text().is_some() => only.value().to_text().unwrap_or_default(),
        rest => rest.iter().fold(ObjectWriter::new(), ObjectWriter::member).finish().to_string(),
    };
    ObjectWriter::new()
        .array(CONTENT, [&block(&text)])
        .raw_some(STRUCTURED, value.get(STRUCTURED).as_ref())
        .value(IS_ERROR, &true)
        .raw_some("_meta", value.get("_meta").as_ref())
        .finish()
}

fn block(text: &str) -> RawJson {
    ObjectWriter::new().value("type", "text").value("text", text).finish()
}
