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
        ("a b", "x", 2, "is not a valid name of a secret"),
        ("a", "", 2, "is empty"),
        ("a", "\n", 2, "is empty"),
    ];
    for (name, input, code, expected) in cases {
        let run = bench.run_with_input(&["secret", "set", name], input);
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.err.contains(expected), "{run:?}");
    }
}

/// A configuration with everything that must stay: comments, odd spaces, line ends, an escape.
const PLAIN: &str = "{\r\n  // Mine.\r\n  \"mcpServers\": {\r\n    \
    \"x\": { \"command\": \"npx\", /* why */ \"args\": [\"-y\", \"--token\", \"ccc-333\"],\r\n      \
      \"env\": {\"API_KEY\":   \"aaa-111\", \"LEVEL\": \"debug\",},\r\n    },\r\n    \
    \"web\": {\"url\": \"http://127.0.0.1:1/mcp\", \"headers\": {\"Authorization\": \"Bearer bbb\\u002d222\"}}, // end\r\n  \
    },\r\n}\r\n";

/// The secrets of `PLAIN`: as they stand there, what takes their place, and what they are.
const MOVED: [(&str, &str, &str); 3] = [
    ("\"aaa-111\"", "\"${keychain:x-api-key}\"", "aaa-111"),
    ("\"ccc-333\"", "\"${keychain:x-token}\"", "ccc-333"),
    ("\"Bearer bbb\\u002d222\"", "\"Bearer ${keychain:web-authorization}\"", "bbb-222"),
];

#[test]
fn what_stands_in_plain_text_is_told_and_moved() {
    let bench = Bench::new("secrets-adopt");
    bench.write("gantry.json", PLAIN);
    let text = || fs::read_to_string(bench.path().join("gantry.json")).expect("a file");
    let silent = |run: &crate::bench::Run| {
        assert_eq!(run.code, Some(0), "{run:?}");
        for (_, _, secret) in MOVED {
            assert!(!run.out.contains(secret) && !run.err.contains(secret), "{run:?}");
        }
    };
    let checked = bench.run(&["config", "check"]);
    silent(&checked);
    let warning = "server `x`: env `API_KEY` holds a secret in plain text; `gantry secret adopt x`";
    assert!(checked.err.contains(warning), "{checked:?}");

    let tried = bench.run(&["secret", "adopt", "--dry-run"]);
    silent(&tried);
    assert!(tried.out.contains("Bearer …  Bearer ${keychain:web-authorization}"), "{tried:?}");
    assert_eq!(text(), PLAIN);
    assert_eq!(bench.run(&["secret", "list", "--json"]).json(), json!([]));

    silent(&bench.run(&["secret", "adopt", "x"]));
    let expected = |moved: &[(&str, &str, &str)]| {
        moved.iter().fold(PLAIN.to_owned(), |text, (old, new, _)| text.replace(old, new))
    };
    assert_eq!(text(), expected(&MOVED[..2]));
    let rest = bench.run(&["secret", "adopt", "--json"]);
    silent(&rest);
    assert_eq!(
        rest.json()["moved"],
        json!([{"server": "web", "in": "headers", "name": "Authorization",
            "secret": "web-authorization", "place": "file"}])
    );
    assert_eq!(text(), expected(&MOVED));
    let checked = bench.run(&["config", "check"]);
    assert!(!checked.err.contains("plain text"), "{checked:?}");
    // Nothing beside the file has the old text.
    for entry in fs::read_dir(bench.path()).expect("a folder").flatten() {
        let text = fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!MOVED.iter().any(|(_, _, it)| text.contains(it)), "{:?}", entry.path());
    }
}

/// A server's program is given what stood in the file.
#[test]
fn what_was_moved_is_what_a_program_gets() {
    let bench = Bench::new("secrets-adopted");
    let config = r#"{"mcpServers": {"s": {"command": "sh", "args": ["-c", "printf %s \"$A_TOKEN\" > got"],
        "env": {"A_TOKEN": "aaa \"111\" é"}, "cwd": "."}}}"#;
    bench.write("gantry.json", config);
    assert_eq!(bench.run(&["secret", "adopt"]).code, Some(0));
    bench.run(&["tools", "list"]);
    let got = fs::read_to_string(bench.path().join("got")).expect("it ran");
    assert_eq!(got, "aaa \"111\" é");
}

#[test]
fn what_cannot_be_adopted_is_left_as_it_is() {
    let bench = Bench::new("secrets-adopt-wrong");
    let entry = r#"{"mcpServers": {"s": {"command": "x", "env": {"A_TOKEN": "aaa-111"}}}}"#;
    let cases = [
        ("gantry.json", &["other"][..], 4, "there is no server `other`"),
        (".mcp.json", &[], 3, "belongs to another program"),
        ("a.toml", &[], 3, "belongs to another program"),
        ("broken-gantry.json", &[], 3, "not valid JSON"),
    ];
    for (file, more, code, expected) in cases {
        let text = if file.starts_with("broken") { &entry[1..] } else { entry };
        bench.write(file, text);
        let run = bench.run(&[&["secret", "adopt", "--config", file], more].concat());
        assert_eq!(run.code, Some(code), "{file}: {run:?}");
        assert!(run.err.contains(expected), "{file}: {run:?}");
        assert_eq!(fs::read_to_string(bench.path().join(file)).expect("a file"), text);
    }
    // A name that has another text is not written over, one that has the same is used.
    for (kept, expected) in [("other", "s-a-token-2"), ("aaa-111", "s-a-token")] {
        bench.run_with_input(&["secret", "set", "s-a-token"], kept);
        let run = bench.run(&["secret", "adopt", "--dry-run", "--json"]).json();
        assert_eq!(run["moved"][0]["secret"], expected, "{run}");
    }
}
