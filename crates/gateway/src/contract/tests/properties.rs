//! What holds for every call and every result.

use gantry_protocol::RawJson;
use proptest::prelude::*;

use super::generate::{call, call_result, result, value};
use crate::contract::{Status, ToolCall, ToolResult};

proptest! {
    #[test]
    fn a_call_survives_both_ways(call in call()) {
        prop_assert_eq!(ToolCall::from_json(&call.to_json()).ok(), Some(call.clone()));
        prop_assert_eq!(ToolCall::from_params(&call.to_params()).ok(), Some(call));
    }

    #[test]
    fn a_result_survives_both_ways(result in result()) {
        prop_assert_eq!(ToolResult::from_json(&result.to_json()).ok(), Some(result.clone()));
        let read = ToolResult::read(&result.to_json(), None).and_then(Result::ok);
        prop_assert_eq!(read, Some(result.clone()));
        let carried = result.to_call_result();
        prop_assert_eq!(ToolResult::from_call_result(&carried), result, "by way of {}", carried);
    }

    /// Clients read a message and write it anew: other order, other spaces.
    #[test]
    fn a_result_survives_a_client(result in result()) {
        let carried: serde_json::Value = result.to_call_result().read().expect("an object");
        let again = ToolResult::from_call_result(&RawJson::from(carried)).to_json();
        let again: serde_json::Value = again.read().expect("an object");
        let result: serde_json::Value = result.to_json().read().expect("an object");
        prop_assert_eq!(again, result);
    }

    #[test]
    fn whatever_a_tool_gives_is_a_result_and_stays_one(given in prop_oneof![call_result(), value()]) {
        let read = ToolResult::from_call_result(&RawJson::from(given));
        let failed = read.status() == Status::Failure;
        prop_assert!(!failed || (read.error().is_some() && read.data().is_none()));
        prop_assert_eq!(ToolResult::from_json(&read.to_json()).ok(), Some(read.clone()));
        prop_assert_eq!(ToolResult::from_call_result(&read.to_call_result()), read);
    }
}
