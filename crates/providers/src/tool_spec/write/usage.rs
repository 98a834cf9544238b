//! The examples: a call, its result, and a result of a call that failed.

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::subject::{Place, Subject};
use super::{block, example};
use crate::tool_spec::NO_CALL;

pub(super) fn write(tool: &Subject) -> String {
    let compile = |schema| Schema::compile(schema, SchemaLimits::default()).ok();
    let arguments = compile(&tool.input)
        .and_then(|it| example::make(&tool.input, |value| it.accept(Some(value)).is_ok()));
    let call = arguments.filter(RawJson::is_object).map(|arguments| {
        ObjectWriter::new().value("tool_name", &tool.name).raw("arguments", &arguments).finish()
    });
    let missing = format!("{NO_CALL}; add `examples` to the input schema");
    [
        part("A call", call, &missing),
        part("The result of a call that succeeded", Some(success(tool)), ""),
        part("The result of a call that failed", Some(failure(tool)), ""),
    ]
    .concat()
}

fn success(tool: &Subject) -> RawJson {
    let Some(schema) = &tool.output else {
        let block = ObjectWriter::new().value("type", "text").value("text", "text").finish();
        let data = ObjectWriter::new().array("content", [&block]).finish();
        return result("success", &data, &RawJson::NULL, "The call succeeded.");
    };
    let compiled = Schema::compile(schema, SchemaLimits::default()).ok();
    match compiled.and_then(|it| example::make(schema, |value| it.check(value).is_ok())) {
        Some(data) => result("success", &data, &RawJson::NULL, "The call succeeded."),
        None => {
            let text = "The call succeeded; `examples` in the output schema would show its data.";
            result("success", &RawJson::NULL, &RawJson::NULL, text)
        }
    }
}

fn part(title: &str, example: Option<RawJson>, missing: &str) -> String {
    match example {
        Some(example) => format!("{title}:\n\n{}\n", block(&example)),
        None => format!("{title}: {missing}.\n\n"),
    }
}

fn failure(tool: &Subject) -> RawJson {
    let required: Option<Vec<String>> = tool.input.get("required").and_then(|it| it.read());
    let (error_type, message) = match required.unwrap_or_default().first() {
        Some(name) => ("ValidationError", format!("argument `{name}` is missing")),
        None if tool.place == Place::Program => {
            ("ToolExecutionError", format!("the tool `{}` ended with exit status 1", tool.name))
        }
        None => ("ToolExecutionError", format!("the tool `{}` failed", tool.name)),
    };
    let error = ObjectWriter::new()
        .value("error_type", error_type)
        .value("error_message", &message)
        .raw("error_details", &RawJson::NULL);
    result("failure", &RawJson::NULL, &error.finish(), "The call failed and returned nothing.")
}

fn result(status: &str, data: &RawJson, error: &RawJson, explanation: &str) -> RawJson {
    ObjectWriter::new()
        .value("status", status)
        .raw("data", data)
        .raw("error", error)
        .value("explanation", explanation)
        .finish()
}
