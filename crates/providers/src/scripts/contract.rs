//! What a program and the gateway say to each other: one JSON line in, one JSON line out.

mod printing;

use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{CallContext, CallError, ErrorKind, Progress, Reply};
use gantry_process::{End, Finished};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, Level, RawJson, Redactor, Secret};
use gantry_transport::lines::to_line;

use printing::Fault;
pub(super) use printing::Printing;

/// How much of what a program complained about goes into the text of an error.
const SHOWN: usize = 500;

/// The one line that a program reads.
pub(super) fn request(arguments: &RawJson) -> Bytes {
    to_line(ObjectWriter::new().raw("arguments", arguments).finish().bytes())
}

/// What a program that has ended means as the result of its tool. What it complains of is shown
/// without its secrets.
pub(super) fn read(
    tool: &Printing<'_>,
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
fn own_failure(tool: &Printing<'_>, finished: &Finished) -> Option<RawJson> {
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

#[cfg(test)]
mod tests;
