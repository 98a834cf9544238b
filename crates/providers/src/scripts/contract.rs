//! The contract between the gateway and a program: one line of JSON in, one line of JSON out.
//! Reads the output as a tool result, MCP content, a failure or plain data.

use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::contract::ToolResult;
use gantry_gateway::{CallContext, CallError, ErrorKind, Progress, Reply, Schema};
use gantry_process::{End, Finished};
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_protocol::{JsonLimits, Level, RawJson, Redactor, Secret};
use gantry_transport::lines::to_line;

/// How much of what a program complained about goes into the text of an error.
const SHOWN: usize = 500;

/// The one line that a program reads.
pub(super) fn request(arguments: &RawJson) -> Bytes {
    to_line(ObjectWriter::new().raw("arguments", arguments).finish().bytes())
}

/// What a program that has ended means as the result of its tool. What it complains of is shown
/// without its secrets.
pub(super) fn read(
    tool: &PrintedValue<'_>,
    secrets: &[Secret],
    timeout: Duration,
    finished: &Finished,
) -> Result<Reply, CallError> {
    let fail = |kind, what: String| Err(failure(kind, tool.name, secrets, &what, finished));
    if finished.stdout_overflow {
        let what = "wrote more to standard output than one call may, and was ended; let it write \
                    less, or write to a file and return its path"
            .to_owned();
        return fail(ErrorKind::ToolFailed, what);
    }
    match &finished.end {
        End::Exited(0) => match line(finished).and_then(|value| tool.result(value)) {
            Ok(result) => Ok(Reply::result(result)),
            Err((kind, what)) => fail(kind, what),
        },
        End::Exited(status) => match own_failure(tool, finished) {
            Some(result) => Ok(Reply::result(result)),
            None => fail(ErrorKind::ToolFailed, format!("ended with exit status {status}")),
        },
        End::Signalled(signal) => {
            fail(ErrorKind::ToolFailed, format!("was ended by signal {signal}"))
        }
        End::TimedOut => {
            let what = format!("did not finish within {timeout:?} and was ended");
            fail(ErrorKind::Timeout, what)
        }
        End::Lost(reason) => fail(ErrorKind::ToolFailed, format!("was lost: {reason}")),
    }
}

/// The failure that a program printed before it ended with a status other than 0. It says more than
/// the status does.
fn own_failure(tool: &PrintedValue<'_>, finished: &Finished) -> Option<RawJson> {
    let result = line(finished).and_then(|value| tool.result(value)).ok()?;
    result.get("isError").is_some_and(|flag| flag.as_str() == "true").then_some(result)
}

/// The JSON value on standard output.
fn line(finished: &Finished) -> Result<RawJson, Fault> {
    let what = match only_line(&finished.stdout) {
        Ok(line) => match RawJson::parse(line, JsonLimits::default()) {
            Ok(value) => return Ok(value),
            Err(error) => format!(
                "did not write JSON to standard output ({error}); it must write one line of JSON, \
                 and everything else to standard error"
            ),
        },
        Err(0) => "wrote nothing to standard output; it must write one line of JSON".to_owned(),
        Err(lines) => format!(
            "wrote {lines} lines to standard output; it must write one line of JSON, and \
             everything else to standard error"
        ),
    };
    Err((ErrorKind::BadOutput, what))
}

/// The only line that is not empty, or how many there are.
fn only_line(stdout: &Bytes) -> Result<Bytes, usize> {
    let lines = stdout.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [line] => Ok(stdout.slice_ref(line)),
        _ => Err(lines.len()),
    }
}

fn failure(
    kind: ErrorKind,
    name: &str,
    secrets: &[Secret],
    what: &str,
    finished: &Finished,
) -> CallError {
    let redactor = Redactor::new(secrets.iter().map(Secret::expose));
    let complaint = redactor.text(finished.stderr.trim()).into_owned();
    let text = match tail(&complaint) {
        "" => format!("the tool `{name}` {what}"),
        shown => format!("the tool `{name}` {what}; it said: {shown}"),
    };
    let status = match finished.end {
        End::Exited(status) => Some(status),
        _ => None,
    };
    let data =
        ObjectWriter::new().value_some("exit_status", status).value("stderr", &complaint).finish();
    CallError::new(kind, text).with_data(data)
}

/// The end of a text, which most often says what went wrong.
fn tail(text: &str) -> &str {
    let start = text.len().saturating_sub(SHOWN);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

/// Passes on a line that a program wrote while it worked. A line that says nothing known is
/// passed over: it can do no harm, and the next version of the contract may know it.
pub(super) async fn relay(context: &CallContext, line: Bytes) {
    let Ok(notification) = RawJson::parse(line, JsonLimits::default()) else { return };
    if let Some(progress) = notification.get("progress").and_then(|it| it.read::<f64>()) {
        let total = notification.get("total").and_then(|it| it.read());
        let message = notification.get("message").and_then(|it| it.to_text());
        context.progress(&Progress { progress, total, message });
    }
    if let Some(data) = notification.get("log") {
        let level = notification.get("level").and_then(|it| it.read()).unwrap_or(Level::Info);
        context.log(level, None, &data).await;
    }
}

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";
const IS_ERROR: &str = "isError";

/// Why a line is no result: what kind of error it is, and what the tool did.
type Fault = (ErrorKind, String);

/// What is known of the tool that prints.
#[derive(Clone, Copy)]
pub(crate) struct PrintedValue<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its output schema as it was written; none for a tool that answers with content.
    pub(crate) source: Option<&'a RawJson>,
    /// The same, compiled.
    pub(crate) schema: Option<&'a Schema>,
}

impl PrintedValue<'_> {
    /// The result of `tools/call` that a value means.
    fn result(&self, value: RawJson) -> Result<RawJson, Fault> {
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
        // An object with a `status` and keys of its own is data where that fits the output schema;
        // where it does not, a result without data is meant, whose further keys are kept.
        if self.schema.is_some()
            && !self.fits(&value)
            && let Ok(result) = ToolResult::from_json(&value)
        {
            return Ok(result.to_call_result());
        }
        if value.get(CONTENT).is_some_and(|content| is_blocks(&content)) {
            return self.content(value);
        }
        let is_failure = value.get(IS_ERROR).is_some_and(|flag| flag.as_str() == "true");
        match is_failure && !self.describes(IS_ERROR) {
            true => Ok(error_result(&value)),
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
fn error_result(value: &RawJson) -> RawJson {
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

#[cfg(test)]
mod tests;
