//! `call --plan`.

use serde_json::json;

use crate::bench::Bench;

/// Gives back its arguments.
const ECHO: &str =
    "read -r line\nline=${line#*\\\"arguments\\\":}\nprintf '%s\\n' \"${line%\\}}\"\n";

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    bench.tool("test.echo", ECHO, &json!({"text": {"type": "string", "description": "The text."}}));
    bench.tool("test.fail", "echo broken >&2\nexit 7\n", &json!({}));
    bench
}

const GOOD: &str = r#"{
    // What comes second is written first.
    "calls": [
        {"id": "second", "name": "test.echo",
            "arguments": {"text": "<${first./structuredContent/text}>"}},
        {"id": "first", "name": "test.echo", "arguments": {"text": "one"}},
    ],
}"#;
const REQUESTS: &str = r#"{"messages": [], "tool_calls": [
    {"tool_call": {"jsonrpc": "2.0", "method": "tools/call", "id": "second",
        "params": {"tool_name": "test.echo",
            "arguments": {"depends": "first", "text": "<first response>"}}}},
    {"tool_call": {"jsonrpc": "2.0", "method": "tools/call", "id": "first",
        "params": {"name": "test.echo", "arguments": {"text": "one"}}}}
]}"#;
const MIXED: &str = r#"{"calls": [
    {"id": "bad", "name": "test.fail"},
    {"id": "never", "name": "test.echo", "after": ["bad"], "arguments": {"text": "x"}}
]}"#;

/// The words of each line of a table.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn a_plan_is_run_and_told_in_a_table() {
    let bench = bench("plan");
    bench.write("good.json", GOOD);
    bench.write("mixed.json", MIXED);
    let call = ["call", "--tools", "tools", "--plan"];
    for (words, input) in [("good.json", ""), ("-", GOOD), ("-", REQUESTS)] {
        let run = bench.run_with_input(&[&call[..], &[words]].concat(), input);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
        let rows = rows(&run.out);
        assert_eq!(rows[0][..3], ["second", "test.echo", "ok"], "{run:?}");
        assert_eq!(rows[1][..3], ["first", "test.echo", "ok"], "{run:?}");
        assert_eq!((rows.len(), rows[0].last()), (2, Some(&"ms")), "{run:?}");
    }
    let run = bench.run(&[&call[..], &["good.json", "--json"]].concat());
    assert_eq!(run.json()["results"][0]["result"]["structuredContent"]["text"], "<one>");

    let run = bench.run(&[&call[..], &["mixed.json"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    let rows = rows(&run.out);
    assert_eq!(rows[0][..3], ["bad", "test.fail", "error"], "{run:?}");
    assert!(run.out.contains("broken"), "{run:?}");
    assert_eq!(rows[1].join(" "), "never test.echo skipped it needs `bad`, which failed");
    let run = bench.run(&[&call[..], &["mixed.json", "--json"]].concat());
    assert_eq!((run.code, &run.json()["results"][1]["status"]), (Some(1), &json!("skipped")));
}

#[test]
fn what_is_wrong_with_a_plan_is_named() {
    let bench = bench("wrong-plan");
    let cases = [
        ("", 2, "standard input:"),
        ("[]", 2, "the plan has no `calls`"),
        ("{/*", 2, "unclosed comment"),
        (r#"{"calls": 7}"#, 2, "`calls` must be an array"),
        (r#"{"calls": [{"id": "a", "name": "x", "after": ["a"]}]}"#, 2, "wait for each other"),
    ];
    for (plan, code, expected) in cases {
        let run = bench.run_with_input(&["call", "--tools", "tools", "--plan", "-"], plan);
        assert_eq!(run.code, Some(code), "{plan}: {run:?}");
        assert!(run.err.contains(expected) && run.out.is_empty(), "{plan}: {run:?}");
    }
    let usage = [
        (&["call", "--plan", "nowhere.json"][..], "the plan cannot be read from `nowhere.json`"),
        (&["call", "test.echo", "--plan", "-"], "cannot be used with"),
        (&["call"], "<NAME>"),
    ];
    for (words, expected) in usage {
        let run = bench.run(words);
        assert_eq!(run.code, Some(2), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
    }
}
