//! The strict contract beside the protocol's own: a tool call `{tool_name, arguments}`, a tool
//! result `{status, data, error, explanation}`, and the types of error that both share.
//!
//! Pure data, exact in both directions against `tools/call`; who speaks it is a door's business.

mod call;
mod call_result;
mod error;
mod error_type;
mod result;
mod status;
mod strict;
mod version;

pub use call::ToolCall;
pub use error::ContractError;
pub use error_type::{ErrorType, ValidationKind};
pub use result::ToolResult;
pub use status::Status;
pub use version::{CONTRACT_HEADER, CONTRACT_VERSION, check_version};

pub(crate) use call_result::ERROR_META;
pub(crate) use call_result::states_no_data;
pub(crate) use strict::read_open_object;

#[cfg(test)]
mod tests;
