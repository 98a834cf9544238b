//! `secret set`, `list` and `remove`: what is kept, and what nobody gets to see.

use std::fs;

use serde_json::json;

use crate::bench::Bench;

const TEXT: &str = "hush-hush-0123";

#[test]
fn what_is_set_is_listed_used_and_removed_but_never_shown() {
    let bench = Bench::new("secrets");
    bench.write("gantry.json", r#"{"mcpServers": {"s": {"command": "${keychain:search}"}}}"#);
    let listed = bench.run(&["list"]);
    assert!(listed.out.contains("`gantry secret set search` keeps one"), "{listed:?}");

    let set = bench.run_with_input(&["secret", "set", "search"], &format!("{TEXT}\n"));
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(set.err.contains("${keychain:search}"), "{set:?}");
    fs::write(bench.path().join("file"), TEXT).expect("a file");
    let other = bench.run(&["secret", "set", "other", "--from-file", "file"]);
    assert_eq!(other.code, Some(0), "{other:?}");

    let rows = bench.run(&["secret", "list", "--json"]).json();
    let file = bench.path().join("gantry.json");
    assert_eq!(
        rows,
        json!([
            {"name": "other", "place": "file", "used_in": []},
            {"name": "search", "place": "file", "used_in": [file]},
        ])
    );
    let kept = fs::read_to_string(bench.path().join("gantry/secrets.json")).expect("a file");
    assert!(!kept.contains(TEXT), "{kept}");
    for words in [&["list"][..], &["config", "show"], &["secret", "list"]] {
        let run = bench.run(words);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(!run.out.contains(TEXT) && !run.err.contains(TEXT), "{run:?}");
    }
    assert_eq!(bench.run(&["secret", "remove", "search"]).code, Some(0));
    assert_eq!(bench.run(&["secret", "remove", "search"]).code, Some(4));
}

#[test]
fn what_cannot_be_kept_is_told() {
    let bench = Bench::new("secrets-wrong");
    let cases = [
        ("a b", "x", 2, "is no name of a secret"),
        ("a", "", 2, "is empty"),
        ("a", "\n", 2, "is empty"),
    ];
    for (name, input, code, expected) in cases {
        let run = bench.run_with_input(&["secret", "set", name], input);
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.err.contains(expected), "{run:?}");
    }
}
