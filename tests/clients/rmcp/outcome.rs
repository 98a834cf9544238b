//! What a call gives the script, and why a step fails.

use rmcp::ServiceError;
use rmcp::model::CallToolResult;
use rmcp::service::ClientInitializeError;
use serde_json::Value;
use thiserror::Error;

/// Why a step did not go as the script says.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Unexpected(String),
    #[error("{0}")]
    Service(#[from] ServiceError),
    #[error("{0}")]
    Connect(#[from] Box<ClientInitializeError>),
    #[error("the server does not start: {0}")]
    Spawn(#[from] std::io::Error),
}

/// What a tool call gave.
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) structured: Option<Value>,
    pub(crate) failed: bool,
}

impl From<CallToolResult> for Outcome {
    fn from(result: CallToolResult) -> Self {
        let texts = result.content.iter().filter_map(|block| block.as_text());
        Self {
            text: texts.map(|text| text.text.as_str()).collect(),
            structured: result.structured_content,
            failed: result.is_error == Some(true),
        }
    }
}
