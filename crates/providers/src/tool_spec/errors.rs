//! The types of error that a call of a registry tool may end with, and what each means here.

use gantry_gateway::contract::ErrorType;

/// Each type with its meaning for people.
pub(super) const ERRORS: [(ErrorType, &str); 7] = [
    (
        ErrorType::ValidationError,
        "The arguments do not fit the input schema (`error_details.kind` is `SchemaError`, and the \
         tool was not started), or the result does not fit the output schema (`OutputSchemaError`) \
         or breaks the rules of a tool result (`ResultContractError`).",
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
    (ErrorType::TransportError, "What serves the tool cannot be reached, or went away."),
    (
        ErrorType::ApiLimitExceeded,
        "Too many calls are running or waiting, here or at the service that the tool uses.",
    ),
];
