//! The types of error that a call of a registry tool may end with, and what each means here.

use gantry_gateway::contract::ErrorType;

/// Each type with its meaning for people.
pub(super) const ERRORS: [(ErrorType, &str); 7] = [
    (
        ErrorType::ValidationError,
        "The arguments do not fit the input schema. The tool was not started.",
    ),
    (
        ErrorType::ToolNotFoundError,
        "There is no tool of this name, or not in the version asked for.",
    ),
    (ErrorType::TimeoutError, "The tool took longer than it may and was ended."),
    (
        ErrorType::ToolExecutionError,
        "The tool was started and failed: an exit status other than 0, a signal, or no result.",
    ),
    (ErrorType::SerializationError, "The tool wrote something that is not one line of JSON."),
    (ErrorType::SchemaError, "The result of the tool does not fit the output schema."),
    (ErrorType::ApiLimitExceeded, "Too many calls are running or waiting."),
];
