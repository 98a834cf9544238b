//! Tables of what each revision says.

use crate::json::{JsonLimits, RawJson};

mod capabilities;
mod input_request;
mod params;
mod result;
mod task;

/// Reads a text of a table.
fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).expect("the table holds valid JSON")
}

/// Compares texts, naming the case that differs.
#[track_caller]
fn same(case: &dyn std::fmt::Debug, found: &RawJson, expected: &str) {
    assert_eq!(found.as_str(), expected, "{case:?}");
}
