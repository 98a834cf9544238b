//! What the classification says, case by case, and that the validator agrees.

mod bombs;
mod compound;
mod input;
mod output;
mod property;
mod tool;
mod versions;

use gantry_protocol::{JsonLimits, RawJson};

use super::{ChangeClass, DefinitionChange, changes};

const MAJOR: Option<ChangeClass> = Some(ChangeClass::Major);
const MINOR: Option<ChangeClass> = Some(ChangeClass::Minor);
const PATCH: Option<ChangeClass> = Some(ChangeClass::Patch);

type Case = (&'static str, &'static str, Option<ChangeClass>, &'static str);

/// Checks schemas of the arguments as a whole.
fn arguments(cases: &[Case]) {
    for (old, new, expected, text) in cases {
        check(&of_input(old, new), *expected, text, &format!("{old} {new}"));
    }
}

/// Checks schemas of the parameter `a`.
fn parameter(cases: &[Case]) {
    let tool = |schema: &str| format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#);
    for (old, new, expected, text) in cases {
        check(&of_input(&tool(old), &tool(new)), *expected, text, &format!("{old} {new}"));
    }
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default())
        .unwrap_or_else(|it| panic!("{text}: {it}"))
}

fn of_input(old: &str, new: &str) -> Vec<DefinitionChange> {
    let tool = |schema: &str| json(&format!(r#"{{"name":"t","inputSchema":{schema}}}"#));
    changes(&tool(old), &tool(new))
}

fn of_output(old: &str, new: &str) -> Vec<DefinitionChange> {
    let tool = |schema: &str| {
        json(&format!(
            r#"{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}"#
        ))
    };
    changes(&tool(old), &tool(new))
}

/// The worst class, if anything changed at all.
fn worst(changes: &[DefinitionChange]) -> Option<ChangeClass> {
    changes.first().map(|change| change.class)
}

/// Checks the class of a change and that one of the changes of that class says so.
fn check(changes: &[DefinitionChange], expected: Option<ChangeClass>, text: &str, case: &str) {
    assert_eq!(worst(changes), expected, "{case}\n{changes:#?}");
    let told = changes.iter().any(|it| Some(it.class) == expected && it.text.contains(text));
    assert!(told || expected.is_none(), "{case}: no text with {text:?}\n{changes:#?}");
    assert!(
        changes.is_sorted_by_key(|it| (std::cmp::Reverse(it.class), &it.place)),
        "{changes:#?}"
    );
}
