//! `check`: every problem with its file, its line and what to do.

use serde_json::json;

use crate::bench::Bench;

#[test]
fn problems_have_a_place_and_advice() {
    let bench = Bench::new("check");
    bench.tool("test.good", "echo 1\n", &json!({}));
    bench.write("tools/bad.tool.json", "{\n  \"name\": \"test.bad\",\n  \"versoin\": \"1\"\n}\n");
    bench.write("tools/schema.sh", "");
    let schema = json!({"name": "test.schema", "version": "1.0.0", "description": "x",
        "command": "./schema.sh", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        "outputSchema": {"type": "integer"}});
    bench.write("tools/schema.tool.json", &schema.to_string());
    bench.write("note.txt", "");
    let cases: [(&[&str], _, &[&str]); 5] = [
        (&["tools/test.good.tool.json"], 0, &["ok  test.good 1.0.0  tools/test.good.tool.json"]),
        (
            &["tools"],
            1,
            &[
                "tools/bad.tool.json:3: error: unknown key `versoin`\n    write `version`",
                "error: the inputSchema of tool `test.schema`",
                "ok  test.good",
            ],
        ),
        (&["tools/bad.tool.json"], 1, &["bad.tool.json:3"]),
        (&["note.txt"], 1, &["the file describes no tool"]),
        (&["--tools", "tools"], 1, &["versoin"]),
    ];
    for (words, code, parts) in cases {
        let run = bench.run(&[&["tools", "check"], words].concat());
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        for part in parts {
            assert!(run.out.contains(part), "{words:?}: {part}: {run:?}");
        }
    }
}

#[test]
fn findings_for_programs() {
    let bench = Bench::new("check-json");
    bench.tool("test.good", "echo 1\n", &json!({}));
    bench.write("tools/bad.tool.json", "{\n");
    let run = bench.run(&["tools", "check", "tools", "--json"]);
    let found = run.json();
    assert_eq!(found["tools"][0]["name"], "test.good", "{found}");
    let problem = &found["problems"][0];
    assert_eq!(problem["line"], 2, "{found}");
    assert_eq!(problem["error_type"], "RegistrationError", "{found}");
    assert!(problem["message"].is_string() && problem["advice"].is_string(), "{found}");
    assert_eq!(run.code, Some(1));
}

#[test]
fn what_cannot_be_checked() {
    let bench = Bench::new("check-none");
    let cases: [(&[&str], _, _); 2] = [
        (&["tools", "check"], 2, "there is nothing to check"),
        (&["tools", "check", "nowhere"], 4, "there is no file or folder nowhere"),
    ];
    for (words, code, expected) in cases {
        let run = bench.run(words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
    }
}
