//! What the lint says about documents that are almost in order.

use std::path::Path;

use super::super::{check, write};
use super::{told, tool};
use crate::scripts::manifest::Manifest;

/// The document of a tool in order.
fn document() -> String {
    write(&tool(Path::new("/tools")))
}

fn problems(text: &str) -> Vec<String> {
    check(Path::new("/tools/x.md"), text.as_bytes()).iter().map(told).collect()
}

/// The line, counted from one, in which a text first stands.
fn line(document: &str, text: &str) -> usize {
    let at = document.find(text).unwrap_or_else(|| panic!("{text} is not in\n{document}"));
    document[..at].matches('\n').count() + 1
}

/// Replaces something and expects one problem in the line of `place` in the changed document.
fn one(from: &str, to: &str, place: &str, expected: &str) {
    let before = document();
    assert!(before.contains(from), "{from} is not in\n{before}");
    let changed = before.replacen(from, to, 1);
    let found = problems(&changed);
    assert_eq!(found.len(), 1, "{from} -> {to}: {found:#?}");
    let expected = format!("{}: {expected}", line(&changed, place));
    assert!(found[0].starts_with(&expected), "{}\nis not\n{expected}", found[0]);
}

#[test]
fn a_written_document_is_in_order() {
    assert_eq!(problems(&document()), Vec::<String>::new(), "{}", document());
    assert_eq!(problems(&document().replace('\n', "\r\n")), Vec::<String>::new());
}

#[test]
fn sections() {
    let heading = "## Tool:";
    one(
        "### 5. Error Handling",
        "### Five",
        heading,
        "the section `5. Error Handling` is missing; add the heading `### 5. Error Handling`",
    );
    one(
        "### 8. Security",
        "### Eight: security",
        heading,
        "the section `8. Security Considerations` is missing",
    );
    one(
        "> Counts words.",
        "",
        "### 1.",
        "the section `1. Tool Purpose and Description` is empty; write its text",
    );
    one(
        "### 8.",
        "### 6. Idempotency\n\nYes.\n\n### 8.",
        "### 6. Idempotency\n\nYes.",
        "the section `6. Idempotency` comes twice; join the two",
    );
    let document = document();
    let (start, end) = (document.find("### 5.").unwrap(), document.find("### 6.").unwrap());
    let moved = format!("{}{}\n{}", &document[..start], &document[end..], &document[start..end]);
    let expected = format!(
        "{}: the section `5. Error Handling` comes after `8. Security Considerations`; put the sections in the order of their numbers",
        line(&moved, "### 5.")
    );
    assert_eq!(problems(&moved), [expected]);
}

#[test]
fn names_and_versions() {
    one(
        "**Version**: 1.2.3",
        "",
        "## Tool:",
        "the tool has no version; add a line such as `**Version**: 1.0.0`",
    );
    one("1.2.3", "1.2", "**Version**", "`1.2` is no semantic version; write three numbers");
    one("1.2.3", "v1.2.3", "**Version**", "`v1.2.3` is no semantic version");
    one(
        "## Tool: `text.count`",
        "## Tool: `text.other`",
        "## Tool:",
        "the heading says `text.other`, section 2 says `text.count`; write the same",
    );
    let twice = document() + &document();
    assert_eq!(problems(&twice).len(), 1);
    assert!(problems(&twice)[0].contains("the document has another tool `text.count`; give one"));
    let capital = document().replace("text.count", "Count");
    assert!(
        problems(&capital)[0].contains("`Count` is no name for a tool"),
        "{:?}",
        problems(&capital)
    );
}

#[test]
fn runtimes() {
    one("\"command\"", "\"comand\"", "\"comand\"", "unknown key `comand`; remove it; the keys are");
    one(
        "\"timeout\": \"5s\",",
        "\"timeout\": \"5s\",\n\"timeout\": 1,",
        "\"timeout\": 1",
        "the key `timeout` is given twice; remove one of them",
    );
}

#[test]
fn schemas() {
    let words = "\"words\": {\n      \"description\": \"How many.\",\n      \"type\": \"integer\"";
    one(
        words,
        "\"words\": {\n      \"description\": \"How many.\"",
        "\"words\": {\n",
        "`words` in the output schema has no type; add `type`",
    );
    one(
        "```json\n{\n  \"properties\": {\n    \"least",
        "```json\n{,\n  \"properties\": {\n    \"least",
        "{,",
        "the code block is not valid JSON: key must be a string; correct",
    );
    one(
        "\"type\": \"integer\"",
        "\"type\": \"integral\"",
        "{\n  \"properties\": {\n    \"least",
        "this is no valid JSON Schema:",
    );
    let list = "`least` in the input schema does not say what the list holds; add `items`";
    let object = "`least` in the input schema does not say what the object holds; add `properties`";
    for (kind, expected) in [("array", list), ("object", object)] {
        let kind = format!("\"type\": \"{kind}\"");
        let found = problems(&document().replacen("\"type\": \"integer\"", &kind, 1));
        assert!(found.iter().any(|it| it.contains(expected)), "{found:#?}");
    }
    // A manifest need not say these either.
    let silent = document().replacen(words, "\"words\": {\n      \"type\": \"integer\"", 1);
    let optional = document().replacen("\"required\": [\n    \"words\"\n  ],", "", 1);
    let optional =
        optional.replacen("| `words` | integer | yes |", "| `words` | integer | no |", 1);
    for text in [silent, optional] {
        assert_eq!(problems(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_tool_that_answers_with_content_has_no_output_schema() {
    let tool = Manifest { output_schema: None, ..tool(Path::new("/tools")) };
    let text = write(&tool);
    assert!(text.contains("\"output\": \"content\""), "{text}");
    assert_eq!(problems(&text), Vec::<String>::new(), "{text}");
    let both = text.replacen("### 5.", "```json\n{\"type\": \"object\"}\n```\n\n### 5.", 1);
    let found = problems(&both);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("has an output schema, and says that it answers with content"));
}

#[test]
fn tables() {
    one(
        "| `text` | string | yes |",
        "| `text` | string | no |",
        "| `text` |",
        "the table says required: no for `text`, the schema yes; correct the table",
    );
    one(
        "| `least` | integer | no |",
        "| least | integer | **Yes** |",
        "| least |",
        "the table says required: yes for `least`, the schema no",
    );
    one(
        "| `text` | string | yes | The text. |  |\n",
        "",
        "\"text\": {",
        "`text` stands in the schema and not in the table; add a row for it",
    );
    one(
        "| `text` |",
        "| `more` | | no |\n| `text` |",
        "| `more` |",
        "`more` stands in the table and not in the schema; add it to `properties`",
    );
    one(
        "| `text` |",
        "| `least` | | no |\n| `text` |",
        "| `least` | | no",
        "`least` stands in the table twice, first in line",
    );
    one(
        "| Name | Type |",
        "| Wrong | Type |",
        "### 3.",
        "`3. Input Schema (Parameters)` has no table; add one with the columns",
    );
    let inner = document().replacen(
        "| `text` |",
        "| `least.inner` | | maybe |\n| `text[].x` | | no |\n| `text` |",
        1,
    );
    assert_eq!(problems(&inner), Vec::<String>::new());
}

#[test]
fn examples() {
    one(
        "\"tool_name\": \"text.count\"",
        "\"tool_name\": \"text.other\"",
        "\"tool_name\": \"text.other\"",
        "the example does not call this tool; write \"tool_name\": \"text.count\"",
    );
    one(
        "\"text\": \"text\"",
        "\"text\": 1",
        "\"arguments\": {",
        "the example does not fit the input schema: argument `text`",
    );
    one(
        "\"words\": 1",
        "\"words\": \"x\"",
        "\"data\": {",
        "the example does not fit the output schema: result member `words`",
    );
    one(
        "\"status\": \"success\"",
        "\"status\": \"fine\"",
        "\"status\": \"fine\"",
        "the example has an unknown status; write one of success, failure",
    );
    one(
        "\"error\": null",
        "\"error\": {\"error_type\": \"x\", \"error_message\": \"y\"}",
        "\"error\": {\"error_type\": \"x\"",
        "the example succeeded and has an error; remove the error",
    );
    let further = document().replacen("\"error\": null", "\"error\": null,\n  \"id\": \"r1\"", 1);
    assert_eq!(problems(&further), Vec::<String>::new());
    one(
        "\"tool_name\": \"text.count\"",
        "\"tool_name\": \"text.count\",\n\"mistake\": null",
        "\"mistake\"",
        "the example has the unknown key `mistake`; remove it",
    );
    one(
        "\"status\": \"failure\",\n  \"data\": null",
        "\"status\": \"failure\",\n  \"data\": {}",
        "\"data\": {}",
        "the example failed and has data; remove the data",
    );
    one(
        "\"error_type\": \"ValidationError\"",
        "\"kind\": 1",
        "\"error\": {",
        "the error of the example has no `error_type`; add it as a string",
    );
    one(
        "\"status\": \"failure\"",
        "\"state\": \"failure\"",
        "### 7.",
        "there is no example of a result that failed; add a ```json block such as",
    );
    one(
        "\"status\": \"success\"",
        "\"state\": \"success\"",
        "### 7.",
        "there is no example of a result that succeeded",
    );
}

#[test]
fn every_problem_is_told_in_the_order_of_the_lines() {
    let broken = document()
        .replace("1.2.3", "one")
        .replace("\"text\": \"text\"", "\"text\": 1")
        .replace("| `text` | string | yes |", "| `text` | string | no |")
        .replace("### 8. ", "### Eight ");
    let found = check(Path::new("/x"), broken.as_bytes());
    let lines: Vec<_> = found.iter().map(|problem| problem.line).collect();
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(lines.is_sorted(), "{lines:?}");
}

#[test]
fn a_document_without_end_of_problems_is_bounded() {
    let rows: String = (0..20_000).map(|number| format!("| `a{number}` | | no |\n")).collect();
    let many = document().replacen("| `text` |", &format!("{rows}| `text` |"), 1);
    assert_eq!(problems(&many).len(), 1000);
}
