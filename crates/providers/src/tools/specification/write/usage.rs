//! The examples: a call, its result, and a result of a call that failed.

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::{block, example};
use crate::tools::manifest::Manifest;

pub(super) fn write(tool: &Manifest) -> String {
    let compile = |schema| Schema::compile(schema, SchemaLimits::default()).ok();
    let arguments = compile(&tool.input_schema)
        .and_then(|it| example::make(&tool.input_schema, |value| it.accept(Some(value)).is_ok()));
    let data = compile(&tool.output_schema)
        .and_then(|it| example::make(&tool.output_schema, |value| it.check(value).is_ok()));
    let call = arguments.filter(RawJson::is_object).map(|arguments| {
        ObjectWriter::new().value("tool_name", &tool.name).raw("arguments", &arguments).finish()
    });
    let success = data.map(|data| result("success", &data, &RawJson::NULL, "The call succeeded."));
    [
        part("A call", call, "`arguments`; add `examples` to the input schema"),
        part(
            "The result of a call that succeeded",
            success,
            "`data`; add `examples` to the output schema",
        ),
        part("The result of a call that failed", Some(failure(tool)), ""),
    ]
    .concat()
}

fn part(title: &str, example: Option<RawJson>, missing: &str) -> String {
    match example {
        Some(example) => format!("{title}:\n\n{}\n", block(&example)),
        None => format!("{title}: no value could be made up for {missing}.\n\n"),
    }
}

fn failure(tool: &Manifest) -> RawJson {
    let required: Option<Vec<String>> = tool.input_schema.get("required").and_then(|it| it.read());
    let (error_type, message) = match required.unwrap_or_default().first() {
        Some(name) => ("ValidationError", format!("argument `{name}` is missing")),
        None => {
            ("ToolExecutionError", format!("the tool `{}` ended with exit status 1", tool.name))
        }
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
