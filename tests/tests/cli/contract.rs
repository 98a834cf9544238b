//! `call --contract`: a tool call in, a tool result out.

use serde_json::json;

use crate::bench::Bench;

#[test]
fn every_end_is_a_tool_result() {
    let bench = Bench::new("contract");
    bench.tool("test.good", "echo '{\"a\": 1}'\n", &json!({"n": {"type": "integer"}}));
    bench.tool("test.bad", "exit 3\n", &json!({}));
    let call =
        |name: &str, arguments| json!({"tool_name": name, "arguments": arguments}).to_string();
    let cases: [(&[&str], String, _, _); 4] = [
        (&["test.good"], String::new(), 0, json!("success")),
        (&["-"], call("test.good", json!({"n": 1})), 0, json!("success")),
        (&["-"], call("test.good", json!({"n": "x"})), 2, json!("failure")),
        (&["test.bad"], String::new(), 1, json!("failure")),
    ];
    for (words, input, code, status) in cases {
        let words = [&["call", "--tools", "tools", "--contract"], words].concat();
        let run = bench.run_with_input(&words, &input);
        assert_eq!(run.code, Some(code), "{words:?} {input}: {run:?}");
        let result = run.json();
        assert_eq!(result["status"], status, "{words:?} {input}: {result}");
        assert_eq!(result["data"].is_null(), status == "failure", "{result}");
        assert_eq!(result["error"].is_object(), status == "failure", "{result}");
    }
    let words = ["call", "--tools", "tools", "--contract", "-"];
    let wrong = bench.run_with_input(&words, "{\"tool\": 1}");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("tool_name"), "{wrong:?}");
}
