//! `gantry policy`: which rule decides, and what most likely is not meant.

use serde_json::json;

use crate::bench::Bench;

const RULES: &str = r#"{
  "tools": ["./tools"],
  "policy": {
    "default": "deny",
    "rules": [
      {"name": "watch", "effect": "deny", "shadow": true},
      {"name": "small", "effect": "allow", "who": {"principals": ["ci-*"]}, "when": "args.n < 10"},
      {"name": "mine", "effect": "approve", "who": {"principals": ["local"]}},
      {"name": "typo", "effect": "deny", "what": {"tools": ["Test.*"]}},
    ],
  },
}"#;

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    bench.tool("test.one", "cat > /dev/null; echo 1\n", &json!({"n": {"type": "number"}}));
    bench.write("gantry.json", RULES);
    bench
}

#[test]
fn an_explanation_names_what_decides() {
    let bench = bench("policy-explain");
    for words in [&["ci-1"][..], &["bob"], &["narrow", "--allow", "x.*"], &["gone"]] {
        let made = bench.run(&[&["token", "create", "--name"], words].concat());
        assert_eq!(made.code, Some(0), "{words:?}: {made:?}");
    }
    assert_eq!(bench.run(&["token", "revoke", "gone"]).code, Some(0));
    let cases: [(&[&str], i32, &[&str]); 10] = [
        (
            &["--as", "narrow", "n=3"],
            5,
            &["`narrow` may not use", "it is not in the scope of the token"],
        ),
        (&[], 0, &["`local` may use `test.one` once a person approves: rule `mine` decides"]),
        (&["--as", "ci-1", "n=3"], 0, &["`ci-1` may use `test.one`: rule `small` decides"]),
        (&["--as", "ci-1", "--args", "{\"n\": 3}"], 0, &["small", "fits and decides"]),
        (
            &["--as", "ci-1", "n=30"],
            5,
            &[
                "`ci-1` may not use `test.one`: no rule allows it, and `default` denies",
                "gantry.json:6  fits, but only looks on",
                "gantry.json:7  its condition does not hold",
                "gantry.json:8  is for other callers",
                "gantry.json:9  is about other things",
                "it is seen in the lists of `ci-1`",
            ],
        ),
        (&["--as", "ci-1"], 5, &["cannot be answered: there is no `n`", "does not fit"]),
        (&["--as", "bob"], 5, &["it is not seen in the lists of `bob`"]),
        (&["--as", "ci-1", "--allow", "x.*", "n=3"], 5, &["it is not in the scope of the token"]),
        (&["--as", "ci-1", "--face", "x", "n=3"], 0, &["rule `small` decides"]),
        (&["--as", "ci-1", "--virtual-server", "x", "n=3"], 0, &["rule `small` decides"]),
    ];
    for (words, code, expected) in cases {
        let words = [&["policy", "explain", "--tool", "test.one"], words].concat();
        let run = bench.run(&words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        for text in expected {
            assert!(run.out.contains(text), "{words:?} lacks `{text}`: {}", run.out);
        }
    }
    let explain = ["policy", "explain", "--tool", "test.one", "--as", "ci-1", "n=30", "--json"];
    let told = bench.run(&explain).json();
    assert_eq!((&told["allowed"], &told["by"]), (&json!(false), &json!("default")), "{told}");
    assert_eq!(told["rules"][1]["why"], "its condition does not hold", "{told}");
    let wrong: [(&[&str], i32); 6] = [
        (&["--tool", "test.one", "--as", "nobody"], 4),
        (&["--tool", "test.one", "--as", "gone"], 5),
        (&["--tool", "none"], 4),
        (&["--resource", "x:none"], 4),
        (&["--tool", "test.one", "--args", "[]"], 2),
        (&[], 2),
    ];
    for (words, code) in wrong {
        let run = bench.run(&[&["policy", "explain"], words].concat());
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
    }
}

#[test]
fn a_call_is_ruled_like_any_other() {
    let bench = bench("policy-call");
    let rules = RULES.replace("approve", "deny");
    bench.write("gantry.json", &rules);
    let run = bench.run(&["call", "test.one", "n=1"]);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(run.err.contains("rule `mine` at gantry.json:8 denies it"), "{run:?}");
}

#[test]
fn names_that_differ_in_case_only_are_told() {
    let bench = bench("policy-check");
    let warning =
        "gantry.json:9: `Test.*` of the rule `typo` fits nothing, but there is `test.one`";
    let run = bench.run(&["policy", "check"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.out.contains("mine") && run.err.contains(warning), "{run:?}");
    assert!(run.err.contains("calls without a matching rule are refused"), "{run:?}");
    let told = bench.run(&["policy", "check", "--json"]).json();
    assert_eq!(
        (&told["default"], told["rules"].as_array().map(Vec::len)),
        (&json!("deny"), Some(4))
    );
    let run = bench.run(&["config", "check"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains(warning), "{run:?}");
    bench.write("gantry.json", &RULES.replace("Test.*", "test.*"));
    assert_eq!(bench.run(&["policy", "check"]).code, Some(0));
}
