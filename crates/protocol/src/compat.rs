//! What differs on the wire from revision to revision, as functions over raw JSON.
//!
//! The middle of the gateway speaks only the newest revision. What an older peer sends is lifted
//! to it, and what an older peer is to read is lowered to what its revision can say. Members that
//! a revision does not know but allows are carried as they are, and a message in which nothing
//! needs to change is handed back without a copy.

mod answer;
mod array;
mod border;
mod capabilities;
mod content;
mod form;
mod input_request;
mod json_block;
mod params;
mod result;
mod sampling;
mod schema;
mod task;
mod tool;

pub use answer::{lift_answer, lower_answer};
pub use capabilities::{
    lift_client_capabilities, lift_server_capabilities, lower_client_capabilities,
    lower_server_capabilities,
};
pub use input_request::{Inexpressible, lift_input_request, lower_input_request};
pub use json_block::with_json_block;
pub use params::{lift_notification, lift_params, lower_notification, lower_params};
pub use result::{lift, lift_result, lower, lower_result};
pub use task::{lift_task, lower_task, with_related_task};

#[cfg(test)]
mod tests;
