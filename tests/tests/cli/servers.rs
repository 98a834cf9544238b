//! `add`, `add-json`, `remove` and `list`: servers in the configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::bench::Bench;

/// The configuration of the user.
const USER: &str = "user/gantry/gantry.json";

fn text(bench: &Bench, file: &str) -> String {
    fs::read_to_string(bench.path().join(file)).expect("a configuration")
}

#[test]
fn what_is_added_is_listed() {
    let bench = Bench::new("servers-add");
    let cases: [(&[&str], _); 8] = [
        (
            &["files", "--", "npx", "-y", "fs", "/data"],
            json!({"command": "npx", "args": ["-y", "fs", "/data"]}),
        ),
        (
            &["-e", "A=1", "--env", "B=x=y", "one", "--", "run"],
            json!({"command": "run", "env": {"A": "1", "B": "x=y"}}),
        ),
        (
            &["-e", "A=1", "two", "B=2", "--", "run", "C=3"],
            json!({"command": "run", "args": ["C=3"], "env": {"A": "1", "B": "2"}}),
        ),
        (&["web", "https://example.com/mcp"], json!({"url": "https://example.com/mcp"})),
        (
            &["-t", "http", "api", "https://h/mcp", "-H", "X-Key: ${KEY}"],
            json!({"type": "http", "url": "https://h/mcp", "headers": {"X-Key": "${KEY}"}}),
        ),
        (
            &["--transport", "sse", "old", "http://h/sse"],
            json!({"type": "sse", "url": "http://h/sse"}),
        ),
        (&["socket", "wss://h/ws"], json!({"url": "wss://h/ws"})),
        (&["-t", "http", "later", "${BASE}/mcp"], json!({"type": "http", "url": "${BASE}/mcp"})),
    ];
    for (words, expected) in &cases {
        let run = bench.run(&[&["add"], *words].concat());
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        let name = words.iter().find(|it| run.out.starts_with(&format!("\"{it}\": {{")));
        let name = name.unwrap_or_else(|| panic!("{words:?}: {run:?}"));
        let whole: serde_json::Value = serde_json::from_str(&text(&bench, USER)).expect("JSON");
        assert_eq!(&whole["mcpServers"][name], expected, "{words:?}");
    }
    let entry =
        r#"{"type": "local", "command": ["npx", "x"], "environment": {"A": "b"}, "prefix": ""}"#;
    assert_eq!(bench.run(&["add-json", "local", entry]).code, Some(0));
    let listed = bench.run(&["list"]);
    let expected = [
        &["files", "stdio", "npx -y fs /data"][..],
        &["one", "stdio", "run"],
        &["two", "stdio", "run C=3"],
        &["web", "http", "https://example.com/mcp"],
        &["api", "wrong", "gantry.json:", "`KEY`", "is not set"],
        &["old", "sse", "http://h/sse"],
        &["socket", "websocket", "wss://h/ws"],
        &["later", "wrong", "gantry.json:", "`BASE`", "is not set"],
        &["local", "stdio", "npx x"],
    ];
    assert_eq!(listed.out.lines().count(), expected.len(), "{listed:?}");
    for (line, words) in listed.out.lines().zip(expected) {
        assert!(line.starts_with(words[0]), "{line}");
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
    }
    assert_eq!(bench.run(&["list", "--json"]).json()[3]["place"], "https://example.com/mcp");
    let mode = bench.path().join(USER).metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a new file is its owner's alone");
}

const WRITTEN: &str = r#"{
  // Where to listen.
  "listen": "127.0.0.1:4268", /* fixed */
  "mcpServers": {
    // Files.
    "files": {"command": "npx"}, // mine
    "search": {
      "url": "https://example.com/mcp", // remote
    },
  },
}
"#;

#[test]
fn the_rest_of_the_file_stays_as_it_is() {
    let bench = Bench::new("servers-rest");
    bench.write("gantry.json", WRITTEN);
    let added = bench.run(&["add", "-s", "project", "new", "--", "run", "it"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let line = "    \"new\": {\"command\": \"run\", \"args\": [\"it\"]},\n  },\n}\n";
    assert_eq!(text(&bench, "gantry.json"), WRITTEN.replace("  },\n}\n", line));
    let mode = bench.path().join("gantry.json").metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "its mode stays");

    let again = bench.run(&["add", "-s", "project", "files", "--", "other"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.err.contains("already") && again.err.contains("--force"), "{again:?}");
    assert_eq!(
        bench.run(&["add", "-s", "project", "--force", "files", "--", "other"]).code,
        Some(0)
    );
    assert_eq!(bench.run(&["remove", "new"]).code, Some(0));
    assert_eq!(bench.run(&["rm", "search"]).code, Some(0));
    let expected = WRITTEN.replace("\"npx\"", "\"other\"");
    let search = expected.find("    \"search\"").expect("it was there");
    let after = expected.find("  },\n}").expect("its end");
    assert_eq!(text(&bench, "gantry.json"), expected[..search].to_owned() + &expected[after..]);
}

#[test]
fn each_scope_has_its_file() {
    let bench = Bench::new("servers-scope");
    bench.write("anvil.json", r#"{"mcp": {"servers": {}}}"#);
    let cases: [(&[&str], _, _); 4] = [
        (&["--scope", "user", "a"], USER, r#""a": {"command": "run"}"#),
        (&["-s", "project", "b"], "gantry.json", r#""b": {"command": "run"}"#),
        (&["c"], USER, r#""c": {"command": "run"}"#),
        (
            &["--config", "anvil.json", "d"],
            "anvil.json",
            r#""d": {"type": "local", "command": ["run"]}"#,
        ),
    ];
    for (words, file, expected) in cases {
        let run = bench.run(&[&["add"], words, &["--", "run"]].concat());
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        assert!(text(&bench, file).contains(expected), "{words:?}: {}", text(&bench, file));
    }
    let link = bench.path().join("link.json");
    std::os::unix::fs::symlink(bench.path().join("gantry.json"), &link).expect("a link");
    assert_eq!(bench.run(&["remove", "--config", "link.json", "b"]).code, Some(0));
    let include = serde_json::from_str::<serde_json::Value>(&text(&bench, "gantry.json"));
    assert_eq!(include.expect("JSON")["include"], json!(["./anvil.json"]), "it is still read");
    assert!(link.is_symlink() && !text(&bench, "gantry.json").contains("\"b\""));
}

#[test]
fn secrets_are_pointed_out_and_not_shown() {
    let bench = Bench::new("servers-secret");
    let secret = "ghp_0123456789abcdef";
    let cases: [(&[&str], bool); 5] = [
        (&["-e", "GITHUB_TOKEN=ghp_0123456789abcdef", "a", "--", "run"], true),
        (&["-H", "Authorization: Bearer ghp_0123456789abcdef", "b", "https://h"], true),
        (&["c", "--", "run", "--token", "ghp_0123456789abcdef"], true),
        (&["-e", "GITHUB_TOKEN=${GITHUB_TOKEN}", "d", "--", "run"], false),
        (&["-e", "LEVEL=debug", "e", "--", "run"], false),
    ];
    for (words, is_secret) in cases {
        let run = bench.run(&[&["add"], words].concat());
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        assert_eq!(run.err.contains("${VARIABLE}"), is_secret, "{words:?}: {run:?}");
        assert!(!run.out.contains(secret) && !run.err.contains(secret), "{words:?}: {run:?}");
    }
    assert_eq!(text(&bench, USER).matches(secret).count(), 3, "it is written");
    assert!(!bench.run(&["list"]).out.contains(secret));
}

#[test]
fn what_cannot_be_added_changes_nothing() {
    let bench = Bench::new("servers-wrong");
    let cases: [(&[&str], _, _); 15] = [
        (&["add", "a b", "--", "x"], 2, "letters, digits"),
        (&["add", "a"], 2, "URL|COMMAND"),
        (&["add", "a", "ftp://h"], 2, "is not the URL of a server"),
        (&["add", "a", "https://h", "more"], 2, "nothing may follow the address"),
        (&["add", "a", "https://h", "-e", "A=1"], 2, "--header"),
        (&["add", "-H", "A: 1", "a", "--", "x"], 2, "takes no headers"),
        (&["add", "-H", "A", "a", "https://h"], 2, "'Name: value'"),
        (&["add", "-e", "A", "a", "--", "x"], 2, "KEY=VALUE"),
        (&["add", "-t", "http", "a", "--", "x"], 2, "is not a URL of the transport `http`"),
        (&["add", "-t", "ws", "a", "https://h"], 2, "write it as wss://"),
        (&["add", "-t", "sse", "a", "wss://h"], 2, "is not a URL of the transport `sse`"),
        (&["add", "-t", "stdio", "a", "https://h"], 2, "is an address"),
        (&["add", "a", "npx -y x"], 2, "write its words separately"),
        (&["add-json", "a", "{}"], 2, "neither `command` nor `url`"),
        (&["remove", "a"], 4, "there is no server `a`"),
    ];
    for (words, code, expected) in cases {
        let run = bench.run(words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
    }
    assert!(!bench.path().join("gantry.json").exists() && !bench.path().join(USER).exists());
    for (wrong, expected) in [
        ("{\"mcpServers\": {", "gantry.json:1:16: not valid JSON"),
        ("{\"mcpServers\": []}", "`mcpServers` is not an object"),
        ("[]", "the file"),
    ] {
        bench.write("gantry.json", wrong);
        let run = bench.run(&["add", "-s", "project", "a", "--", "x"]);
        assert_eq!(run.code, Some(3), "{wrong}: {run:?}");
        assert!(run.err.contains(expected), "{wrong}: {run:?}");
        assert_eq!(text(&bench, "gantry.json"), wrong);
    }
}

#[test]
fn a_server_is_removed_where_it_is() {
    let bench = Bench::new("servers-holding");
    for words in [&["a"][..], &["-s", "project", "b"], &["both"], &["-s", "project", "both"]] {
        let run = bench.run(&[&["add"], words, &["--", "run"]].concat());
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
    }
    let listed = bench.run(&["list"]);
    assert_eq!(listed.out.lines().count(), 3, "both files are in force: {listed:?}");
    let cases: [(&[&str], i32, &str); 6] = [
        (&["a"], 0, USER),
        (&["b"], 0, "from gantry.json"),
        (&["both"], 2, "--config"),
        (&["both", "-s", "user"], 0, USER),
        (&["both"], 0, "gantry.json"),
        (&["both"], 4, "there is no server `both`"),
    ];
    for (words, code, expected) in cases {
        let run = bench.run(&[&["remove"], words].concat());
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        let err = run.err.replace(&format!("{}/", bench.path().display()), "");
        assert!(err.contains(expected), "{words:?}: {run:?}");
    }
}

#[test]
fn what_readmes_print_is_taken() {
    let bench = Bench::new("servers-readme");
    let block = r#"{
      // From a README.
      "mcpServers": {"one": {"command": "npx", "args": ["-y", "one"], "disabled": false}, "my two": {"url": "https://h/mcp"}},
    }"#;
    let (one, two) =
        (json!({"command": "npx", "args": ["-y", "one"]}), json!({"url": "https://h/mcp"}));
    type Case<'a> = (&'a [&'a str], &'a str, &'a [(&'a str, &'a serde_json::Value)]);
    let cases: [Case<'_>; 7] = [
        (&[block], "", &[("one", &one), ("my-two", &two)]),
        (&["-"], block, &[("one", &one), ("my-two", &two)]),
        (&["one", block], "", &[("one", &one)]),
        (
            &["other", "-"],
            r#"{"mcpServers": {"one": {"url": "https://h/mcp"}}}"#,
            &[("other", &two)],
        ),
        (&["plain", "-"], r#"{"url": "https://h/mcp"}"#, &[("plain", &two)]),
        (
            &[r#"{"servers": {"code": {"type": "http", "url": "https://h/mcp"}}}"#],
            "",
            &[("code", &json!({"type": "http", "url": "https://h/mcp"}))],
        ),
        (
            &["slow", r#"{"url": "https://h/mcp", "timeout": 60, "autoApprove": []}"#],
            "",
            &[("slow", &json!({"url": "https://h/mcp", "timeout": 60000}))],
        ),
    ];
    for (words, input, expected) in cases {
        let _ = fs::remove_file(bench.path().join(USER));
        let run = bench.run_with_input(&[&["add-json"], words].concat(), input);
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        let whole: serde_json::Value = serde_json::from_str(&text(&bench, USER)).expect("JSON");
        let written = whole["mcpServers"].as_object().expect("servers");
        assert_eq!(written.len(), expected.len(), "{words:?}: {whole}");
        for (name, entry) in expected {
            assert_eq!(&written.get(*name), &Some(*entry), "{words:?}: {whole}");
        }
    }
    let before = text(&bench, USER);
    let wrong: [(&[&str], &str); 4] = [
        (&[r#"{"command": "x"}"#], "needs a name"),
        (&["none", block], "it has one, my two"),
        (&[r#"{"mcpServers": {"a": {"command": "x"}, "b": {}}}"#], "`b` is invalid"),
        (&["a", "{"], "not valid JSON"),
    ];
    for (words, expected) in wrong {
        let run = bench.run(&[&["add-json"], words].concat());
        assert_eq!(run.code, Some(2), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
        assert_eq!(text(&bench, USER), before, "{words:?}");
    }
}

#[test]
fn an_address_needs_no_scheme() {
    let bench = Bench::new("servers-scheme");
    bench.write("run.it", "");
    let cases: [(&[&str], serde_json::Value); 7] = [
        (&["example.com/mcp"], json!({"url": "https://example.com/mcp"})),
        (&["mcp.example.com:8443"], json!({"url": "https://mcp.example.com:8443"})),
        (&["localhost:3000/mcp"], json!({"url": "http://localhost:3000/mcp"})),
        (&["127.0.0.1:3000/mcp"], json!({"url": "http://127.0.0.1:3000/mcp"})),
        (&["-t", "ws", "example.com/ws"], json!({"type": "ws", "url": "wss://example.com/ws"})),
        (&["-t", "stdio", "bin.d/server"], json!({"command": "bin.d/server"})),
        (&["./run.it"], json!({"command": "./run.it"})),
    ];
    for (words, expected) in cases {
        let run = bench.run(&[&["add", "--force", "it"], words].concat());
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        let whole: serde_json::Value = serde_json::from_str(&text(&bench, USER)).expect("JSON");
        assert_eq!(whole["mcpServers"]["it"], expected, "{words:?}");
    }
}
