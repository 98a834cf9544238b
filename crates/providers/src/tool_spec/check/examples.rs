//! Checks that the examples fit the schemas.

use gantry_gateway::{Schema, Subject};
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::{Findings, located};
use crate::tool_spec::NO_CALL;
use crate::tool_spec::document::{Part, Section};
use crate::tool_spec::markdown::{Fence, Piece};
use crate::tool_spec::read::Located;

const STATUSES: [&str; 4] = ["success", "failure", "no_change_needed", "partial_success"];

/// What examples there are.
#[derive(Default)]
struct Seen {
    call: bool,
    success: bool,
    failure: bool,
}

pub(super) fn check(
    part: &Part<'_>,
    input: Option<&Schema>,
    output: Option<&Schema>,
    findings: &mut Findings<'_>,
) {
    let Some(chapter) = part.chapter(Section::Examples).filter(|it| !it.is_empty()) else { return };
    let name = part.name().map(|(name, _)| name);
    let mut seen = Seen::default();
    for fence in chapter.fences().filter(Fence::is_json) {
        let Some(example) = located(&fence, findings) else { continue };
        if ["tool_name", "arguments"].iter().any(|key| example.value.get(key).is_some()) {
            seen.call = true;
            Example { example: &example, findings }.call(name, input);
        } else if let Some(status) = example.value.get("status") {
            let failed = status.as_text() == Some("failure");
            (seen.failure, seen.success) = (seen.failure | failed, seen.success | !failed);
            Example { example: &example, findings }.result(&status, output);
        }
    }
    // No value may fit a schema, and then there is none to show.
    let says_none = chapter
        .pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Text { text, .. } if text.contains(NO_CALL)));
    let missing = [
        (seen.call || says_none, "a tool call", "{\"tool_name\": …, \"arguments\": {…}}"),
        (seen.success, "a result that succeeded", "{\"status\": \"success\", \"data\": …}"),
        (seen.failure, "a result that failed", "{\"status\": \"failure\", \"error\": {…}}"),
    ];
    for (_, what, form) in missing.into_iter().filter(|(seen, ..)| !seen) {
        let text = format!("there is no example of {what}");
        findings.add(chapter.line, text, format!("add a ```json block such as {form}"));
    }
}

/// One example under examination.
struct Example<'a, 'f> {
    example: &'a Located,
    findings: &'a mut Findings<'f>,
}

impl Example<'_, '_> {
    fn complain(&mut self, at: &RawJson, text: impl Into<String>, advice: &str) {
        if !self.findings.is_full() {
            self.findings.add(self.example.line_of(at), text, advice);
        }
    }

    fn only(&mut self, object: &RawJson, known: &[&str]) {
        for member in object.members().filter(|member| !known.contains(&&*member.key())) {
            let text = format!("the example has the unknown key `{}`", member.key());
            let advice = format!("remove it; the keys are {}", known.join(", "));
            self.complain(&member.value(), text, &advice);
        }
    }

    fn call(&mut self, name: Option<&str>, input: Option<&Schema>) {
        let call = &self.example.value;
        self.only(call, &["tool_name", "arguments"]);
        let told = call.get("tool_name");
        if told.as_ref().and_then(RawJson::to_text).as_deref() != name {
            let advice = format!("write \"tool_name\": \"{}\"", name.unwrap_or("module.tool"));
            let text = "the example does not call this tool";
            self.complain(told.as_ref().unwrap_or(call), text, &advice);
        }
        let Some(arguments) = call.get("arguments").filter(RawJson::is_object) else {
            let text = "the arguments of the example are not an object";
            self.complain(call, text, "write {} when there are none");
            return;
        };
        if let Some(Err(violations)) = input.map(|schema| schema.accept(Some(&arguments))) {
            let text = format!("the example does not fit the input schema: {violations}");
            self.complain(&arguments, text, "correct the example or the schema");
        }
    }

    fn result(&mut self, status: &RawJson, output: Option<&Schema>) {
        let result = &self.example.value;
        if !status.to_text().is_some_and(|it| STATUSES.contains(&it.as_str())) {
            let advice = format!("write one of {}", STATUSES.join(", "));
            self.complain(status, "the example has an unknown status", &advice);
        }
        let given = |key| result.get(key).filter(|value: &RawJson| !value.is_null());
        if status.as_text() == Some("failure") {
            self.failure(given("data"), given("error"));
            return;
        }
        if let Some(error) = given("error").filter(|_| status.as_text() == Some("success")) {
            self.complain(&error, "the example succeeded and has an error", "remove the error");
        }
        let checked = given("data").zip(output).map(|(data, schema)| (schema.check(&data), data));
        if let Some((Err(violations), data)) = checked {
            let violations = violations.about(Subject::Result);
            let text = format!("the example does not fit the output schema: {violations}");
            self.complain(&data, text, "correct the example or the schema");
        }
    }

    fn failure(&mut self, data: Option<RawJson>, error: Option<RawJson>) {
        if let Some(data) = data {
            self.complain(&data, "the example failed and has data", "remove the data");
        }
        let Some(error) = error else {
            let advice = "add \"error\": {\"error_type\": …, \"error_message\": …}";
            self.complain(&self.example.value, "the example failed and has no error", advice);
            return;
        };
        for key in ["error_type", "error_message"] {
            if error.get(key).is_none_or(|value| value.kind() != JsonKind::String) {
                let text = format!("the error of the example has no `{key}`");
                self.complain(&error, text, "add it as a string");
            }
        }
    }
}
