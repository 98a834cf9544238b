//! What a program may write, and what becomes of a call when it writes something else.

use gantry_tests::processes;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::json;
use tokio::task::JoinSet;

/// Puts one tool behind the gateway and gives the text of its failure.
async fn failure(script: &str, timeout: &str) -> String {
    let folder = Folder::new();
    folder.shell_with("bad.tool", script, json!({"timeout": timeout}));
    folder.shell("good.tool", "echo '{}'");
    let mut tool_fixture = ToolFixture::open(folder).await;
    let text = tool_fixture.failure("bad.tool", json!({})).await;
    let next = tool_fixture.call("good.tool", json!({})).await;
    assert_eq!(next["isError"], false, "the next call is not disturbed: {next}");
    processes::until_none(tool_fixture.folder.mark()).await;
    text
}

#[tokio::test]
async fn what_is_not_one_line_of_json_is_a_failure_that_says_so() {
    let nothing = "wrote nothing to standard output; it must write one line of JSON";
    let several = "lines to standard output; it must write one line of JSON";
    let no_json = "it must write one line of JSON, and everything else to standard error";
    let cases = [
        ("true", nothing),
        ("printf ' \\n\\n \\n'", nothing),
        ("echo '{}'; echo '{}'", several),
        ("echo starting; echo '{}'", several),
        ("printf '\"\\377\\376\"\\n'", "(the message is not UTF-8 at byte 1)"),
        ("printf '\\177ELF\\002\\001\\001\\000\\000'", no_json),
        ("head -c 4096 /dev/urandom | tr -d '\\n'", no_json),
        ("echo '{\"a\": NaN}'", no_json),
        ("echo '{\"a\": Infinity}'", no_json),
        ("echo '{\"a\": -Infinity}'", no_json),
        ("echo '{\"a\": 1'", no_json),
        ("echo \"{'a': 1}\"", no_json),
        ("head -c 200000 /dev/zero | tr '\\0' '['", no_json),
        ("echo '{} {}'", no_json),
        ("printf '\\357\\273\\277{}'", no_json),
        ("echo 7", "broke its own outputSchema: the value must be an object; got 7"),
        ("echo null", "broke its own outputSchema"),
        ("echo '{\"a\": 1e400}'", "broke its own outputSchema"),
        ("echo '{\"a\": \"\\ud800\"}'", "broke its own outputSchema"),
        ("echo '{\"content\": []}'", "declare `output: \"content\"` in place of the output schema"),
    ];
    let mut failures = JoinSet::new();
    for (script, expected) in cases {
        failures.spawn(async move { (script, expected, failure(script, "25s").await) });
    }
    for (script, expected, text) in failures.join_all().await {
        assert!(text.contains("the tool `bad.tool`"), "{script}: {text}");
        assert!(text.contains(expected), "{script}: {text}");
    }
}

#[tokio::test]
async fn a_line_that_never_ends_is_not_waited_for() {
    for script in ["printf '{\"a\": 1'; exec sleep 1000", "echo '{}'; exec sleep 1000"] {
        let text = failure(script, "500ms").await;
        assert!(text.contains("did not finish within 500ms and was ended"), "{script}: {text}");
    }
}

#[tokio::test]
async fn what_is_one_line_of_json_is_taken_however_it_ends() {
    let cases = [
        ("printf '{\"a\": 1}'", json!({"a": 1})),
        ("printf '\\n\\r\\n{\"a\": 1}\\r\\n\\n'", json!({"a": 1})),
        ("printf '{\"a\": 1}\\n'; exec >&- 2>&- 3>&-; exit 0", json!({"a": 1})),
        ("printf '{\"a\": \"\\303\\244\"}'", json!({"a": "ä"})),
        ("echo '{\"content\": [1, \"a\", {}]}'", json!({"content": [1, "a", {}]})),
        ("echo '{\"resultType\": \"input_required\"}'", json!({"resultType": "input_required"})),
    ];
    let folder = Folder::new();
    for (number, (script, _)) in cases.iter().enumerate() {
        folder.shell(&format!("good.number{number}"), script);
    }
    let mut tool_fixture = ToolFixture::open(folder).await;
    for (number, (script, expected)) in cases.into_iter().enumerate() {
        let result = tool_fixture.call(&format!("good.number{number}"), json!({})).await;
        assert_eq!(result["structuredContent"], expected, "{script}: {result}");
    }
}
