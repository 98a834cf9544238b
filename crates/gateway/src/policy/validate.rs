//! Arguments must fit the tool's schema before it runs, and its result after.

use std::sync::Arc;

use gantry_protocol::RawJson;

use crate::entry::ToolEntry;
use crate::error::{CallError, ErrorKind};
use crate::provider::{Resolved, Target};
use crate::reply::Reply;
use crate::schema::{Subject, Violations};

/// Checks a tool's arguments and fills in what the schema gives a default for, if the tool wants
/// that.
pub fn check_arguments(mut resolved: Resolved) -> Result<Resolved, CallError> {
    let Target::Tool(tool) = &resolved.target else {
        return Ok(resolved);
    };
    let given = resolved.call.head.arguments.as_ref().filter(|given| !given.is_null());
    let invalid = |violations: Violations| {
        let text = format!("the arguments of `{}` are not valid: {violations}", tool.name);
        CallError::new(ErrorKind::InvalidArguments, text)
    };
    if !tool.fill_defaults {
        let checked = tool.input.check(given.unwrap_or(&RawJson::EMPTY_OBJECT));
        checked.map_err(|violations| invalid(violations.about(Subject::Arguments)))?;
        return Ok(resolved);
    }
    let arguments = tool.input.accept(given).map_err(invalid)?;
    if given != Some(&arguments) {
        Arc::make_mut(&mut resolved.call).set_arguments(arguments);
    }
    Ok(resolved)
}

/// Checks a tool's structured result against the schema it promised.
pub fn check_result(target: &Target, reply: Reply) -> Result<Reply, CallError> {
    let (Target::Tool(tool), Reply::Result(result)) = (target, &reply) else {
        return Ok(reply);
    };
    match &tool.output {
        Some(_) if !result.is_error() => check_structured(tool, result).map(|()| reply),
        _ => Ok(reply),
    }
}

fn check_structured(tool: &ToolEntry, result: &RawJson) -> Result<(), CallError> {
    let Some(schema) = &tool.output else {
        return Ok(());
    };
    let problem = match result.get("structuredContent") {
        Some(structured) => match schema.check(&structured) {
            Ok(()) => return Ok(()),
            Err(violations) => violations.to_string(),
        },
        None => "it has no structuredContent".to_owned(),
    };
    let text = format!("the tool `{}` broke its own outputSchema: {problem}", tool.name);
    Err(CallError::new(ErrorKind::BrokenPromise, text))
}
