//! What the entry of a server may say, and what is wrong with it.

use std::path::Path;
use std::time::Duration;

use gantry_client::{Backoff, Era, FloodLimits, ListLimits, RetrySettings, Start, Target};
use gantry_providers::upstreams::{Share, UpstreamConfig};

use crate::config::Config;
use crate::config::tests::parse;

/// The server that an entry of `mcpServers` gives.
fn server(entry: &str) -> UpstreamConfig {
    let text = format!("{{\"mcpServers\": {{\"s\": {entry}}}}}");
    let config = parse(&text).unwrap_or_else(|error| panic!("{entry}: {error}"));
    config.servers.into_iter().next().expect("one server")
}

#[test]
fn options() {
    let server = server(
        r#"{"command": "x", "prefix": "", "include": ["a*"], "enabled_tools": ["b"],
            "exclude": ["c"], "tools": {"a1": {"title": "A", "description": "one", "task": false}},
            "task": true,
            "share": "session", "era": "legacy", "start": "lazy", "idle": "5m", "lifetime": "1h",
            "refresh": "30s", "restart": {"first": "1s", "atMost": 60000}, "timeout": "20m",
            "roots": ["./my src", {"uri": "file:///x", "name": "X"}]}"#,
    );
    assert_eq!(server.prefix.as_deref(), Some(""));
    assert_eq!((server.include, server.exclude), (vec!["a*".into(), "b".into()], vec!["c".into()]));
    assert_eq!(server.overrides["a1"].description.as_deref(), Some("one"));
    assert_eq!((server.task, server.overrides["a1"].task), (true, Some(false)));
    assert_eq!(server.share, Share::Session);
    assert_eq!(server.refresh, Some(Duration::from_secs(30)));
    let client = server.client;
    assert_eq!((client.era, client.start), (Era::Legacy, Start::Lazy));
    let second = Duration::from_secs(1);
    assert_eq!((client.idle, client.lifetime), (Some(300 * second), Some(3600 * second)));
    assert_eq!((client.backoff.first, client.backoff.at_most), (second, 60 * second));
    assert_eq!((client.silence, client.at_most), (1200 * second, 1200 * second));
    let roots = r#"{"roots":[{"uri":"file:///etc/my%20src"},{"uri":"file:///x","name":"X"}]}"#;
    assert_eq!(client.roots.expect("given").as_str(), roots);
}

#[test]
fn limits() {
    let usual = server(r#"{"command": "x", "limits": {}}"#);
    assert_eq!(usual.client.lists, ListLimits::default());
    assert_eq!(usual.client.flood, FloodLimits::default());
    let given = server(
        r#"{"command": "x", "limits": {"items": 1, "definition": "2KiB", "definitions": 3, "page": 4,
            "batch": 5, "messages": 6, "stderr": "7KiB", "disconnectAfter": "8s", "validation": 9,
            "templates": "10KiB"}}"#,
    );
    let lists = ListLimits { items: 1, definition: 2048, total: 3, page: 4 };
    assert_eq!((given.client.lists, given.client.batch), (lists, 5));
    let disconnect_after = Duration::from_secs(8);
    let flood = FloodLimits { messages: 6, stderr: 7168, disconnect_after, ..Default::default() };
    assert_eq!((given.client.flood, given.validation), (flood, Some(9)));
    assert_eq!((given.templates, usual.templates), (10_240, 1 << 20));
    for (limits, reason) in [
        ("7", "`limits`"),
        (r#"{"defintion": 1}"#, "unknown key `defintion`; write `definition`"),
        (r#"{"messages": 0}"#, "`messages`"),
        (r#"{"definition": "many"}"#, "`definition`"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"s": {{"command": "x", "limits": {limits}}}}}}}"#);
        let error = parse(&text).expect_err(limits).to_string();
        assert!(error.contains(reason), "{limits}: {error}");
    }
}

#[test]
fn retries() {
    let retry = |said: &str| {
        let entry = format!(r#"{{"command": "x", "retry": {said}}}"#);
        server(&entry).client.retry
    };
    let usual = RetrySettings::default();
    assert_eq!(server(r#"{"command": "x"}"#).client.retry, usual);
    assert_eq!(retry("{}"), usual);
    assert_eq!(retry("false"), RetrySettings { attempts: 1, ..usual.clone() });
    let second = Duration::from_secs(1);
    let given = RetrySettings {
        attempts: 2,
        backoff: Backoff { first: second, at_most: 3 * second },
        retry_after: 4 * second,
        waiting: 5,
    };
    let said =
        r#"{"attempts": 2, "first": "1s", "atMost": "3s", "retryAfter": "4s", "waiting": 5}"#;
    assert_eq!(retry(said), given);
    assert_eq!(usual.attempts, 4);
    for (said, reason) in [
        ("7", "`retry`"),
        ("true", "`retry`"),
        (r#"{"attemps": 1}"#, "unknown key `attemps`; write `attempts`"),
        (r#"{"attempts": 0}"#, "`attempts`"),
        (r#"{"attempts": 1001}"#, "`attempts`"),
        (r#"{"first": "soon"}"#, "`first`"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"s": {{"command": "x", "retry": {said}}}}}}}"#);
        let error = parse(&text).expect_err(said).to_string();
        assert!(error.contains(reason), "{said}: {error}");
    }
}

#[test]
fn filters_of_another_program() {
    let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<String>>();
    for (filter, include, exclude) in [
        (r#"{"mode": "allow", "list": ["a", "b"]}"#, texts(&["a", "b"]), texts(&[])),
        (r#"{"mode": "Block", "list": ["a"]}"#, texts(&[]), texts(&["a"])),
        ("null", texts(&[]), texts(&[])),
    ] {
        let entry = format!(r#"{{"command": "x", "options": {{"toolFilter": {filter}}}}}"#);
        let server = server(&entry);
        assert_eq!((server.include, server.exclude), (include, exclude), "{entry}");
    }
    let entry = r#"{"command": "x", "options": {"toolFilter": {"mode": "some", "list": ["a"]}}}"#;
    let text = format!("{{\"mcpServers\": {{\"s\": {entry}}}}}");
    let error = parse(&text).expect_err("an error").to_string();
    assert!(error.contains("toolFilter") && error.contains("block"), "{error}");
}

#[test]
fn programs() {
    let cases = [
        (r#"{"command": "x"}"#, "x", ""),
        (r#"{"command": "./x"}"#, "/etc/x", ""),
        (r#"{"command": "~/x", "args": [1, true, ""]}"#, "/home/me/x", "1 true "),
        (r#"{"command": ["bin/x", "a"], "args": ["b"]}"#, "/etc/bin/x", "a b"),
        (
            r#"{"command": "${SET}", "args": ["$${SET}", "$SET", "{x}"]}"#,
            "value",
            "${SET} $SET {x}",
        ),
        (r#"{"command": "x", "args": ["${NO:-${SET}}", "{env:SET}"]}"#, "x", "value value"),
        (r#"{"command": "x", "args": ["${NO:-{\"a\": 1}}", "${EMPTY:-d}"]}"#, "x", "{\"a\": 1} d"),
        (r#"{"type": "stdio", "command": "x", "url": "https://x"}"#, "x", ""),
    ];
    for (entry, program, args) in cases {
        let Ok(Target::Program(found)) = server(entry).target else { panic!("{entry}") };
        let found = (found.program.display().to_string(), found.args.join(" "));
        assert_eq!(found, (program.to_owned(), args.to_owned()), "{entry}");
    }
}

#[test]
fn environments() {
    let entry = r#"{"command": "x", "env": {"A": "${SET}", "N": 1, "PATH": null},
                    "environment": {"A": "under", "B": ""}}"#;
    let Ok(Target::Program(program)) = server(entry).target else { panic!("a program") };
    let of = |name: &str| {
        let mut found = program.env.iter().filter(|(known, _)| known == name);
        (found.next().map(|(_, value)| value.clone()), found.count())
    };
    let text = |text: &str| (Some(text.to_owned()), 0);
    assert_eq!([of("A"), of("B"), of("N")], [text("value"), text(""), text("1")]);
    assert_eq!(of("PATH"), (None, 0));
    assert_eq!(of("CARGO_MANIFEST_DIR"), (None, 0), "what is not asked for is not inherited");
}

#[test]
fn mistakes() {
    let cases = [
        ("1", "1:22: `s` has the wrong form; write an object with `command` or `url`"),
        ("{}", "1:17: the server `s` has neither `command` nor `url`; add one of them"),
        (r#"{"comand": "x"}"#, "1:23: unknown key `comand`; write `command`, or remove it"),
        (r#"{"oauth": {}, "wat": 1}"#, "1:36: unknown key `wat`; "),
        (r#"{"command": "a", "command": "b"}"#, "1:39: the key `command` is given twice"),
        (r#"{"command": "a", "url": "b"}"#, "1:17: the server `s` has both `command` and `url`"),
        (r#"{"type": "http", "command": "a"}"#, "1:17: the server `s` has no `url`"),
        (r#"{"type": "stdio", "url": "a"}"#, "1:17: the server `s` has no `command`"),
        (r#"{"type": "pigeon", "url": "a"}"#, "1:31: `type` has the wrong form; write stdio,"),
        (r#"{"command": ""}"#, "1:34: `command` has the wrong form"),
        (r#"{"command": []}"#, "1:34: `command` has the wrong form"),
        (r#"{"command": "a", "args": "b"}"#, "1:47: `args` has the wrong form; write a list of"),
        (r#"{"command": "a", "args": [{}]}"#, "1:48: `args` has the wrong form"),
        (r#"{"command": "a", "env": {"K": []}}"#, "1:52: `env.K` has the wrong form"),
        (r#"{"url": "nonsense"}"#, "1:30: `url` has the wrong form; write an address such as"),
        (r#"{"url": "ftp://x/y"}"#, "1:30: `url` has the wrong form; write an address with http"),
        (
            r#"{"type": "ws", "url": "http://x"}"#,
            "1:44: `url` has the wrong form; write an address with ws",
        ),
        (r#"{"url": "http://x", "headers": {"a b": "c"}}"#, "1:53: `headers.a b` has the wrong"),
        (r#"{"url": "http://x", "headers": {"a": "c\n"}}"#, "1:53: `headers.a` has the wrong"),
        (r#"{"command": "a", "timeout": "x"}"#, "1:50: `timeout` has the wrong form; write mill"),
        (r#"{"command": "a", "enabled": 1}"#, "1:50: `enabled` has the wrong form; write true"),
        (r#"{"command": "a", "share": "all"}"#, "1:48: `share` has the wrong form; write process,"),
        (r#"{"command": "a", "prefix": "a b"}"#, "1:49: `prefix` has the wrong form"),
        (r#"{"command": "a", "restart": {"fist": 1}}"#, "1:51: unknown key `fist`; write `first`"),
        (r#"{"command": "a", "tools": {"t": {"x": 1}}}"#, "1:55: unknown key `x`; "),
    ];
    for (entry, expected) in cases {
        let error = parse(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}")).expect_err(entry);
        assert!(error.starts_with(&format!("/etc/g.json:{expected}")), "{entry}: {error}");
    }
    let cases = [
        (r#"{"mcpServers": 1}"#, "1:16: `mcpServers` has the wrong form; write an object of serv"),
        (r#"{"mcpServers": {"a b": {}}}"#, "1:17: `a b` cannot be the name of a server; use lett"),
        (r#"{"mcpServers": {"": {}}}"#, "1:17: `` cannot be the name of a server"),
        (
            r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
            "1:40: the key `a` is",
        ),
        (r#"{"profiles": {"a": {"server": []}}}"#, "1:21: unknown key `server`; write `servers`"),
        (r#"{"profiles": {"a/b": {}}}"#, "1:15: `a/b` has the wrong form; write a name of letters"),
    ];
    for (text, expected) in cases {
        let error = parse(text).expect_err(text);
        assert!(error.starts_with(&format!("/etc/g.json:{expected}")), "{text}: {error}");
    }
}

#[test]
fn what_is_missing_around_it_concerns_one_server_only() {
    let cases = [
        (r#"{"command": "${NO}"}"#, "1:34: the variable `NO`, needed by `command`, is not set"),
        (
            r#"{"command": "a", "env": {"K": "{env:NO}"}}"#,
            "1:52: the variable `NO`, needed by `env.K`",
        ),
        (r#"{"url": "https://${env:NO}"}"#, "1:30: the variable `NO`, needed by `url`"),
        (
            r#"{"command": "a", "args": ["${file:/no/file}"]}"#,
            "1:48: `args`: the file /no/file cannot",
        ),
        (
            r#"{"command": "a", "envFile": "no.env"}"#,
            "1:50: `envFile`: the file /etc/no.env cannot",
        ),
        (
            r#"{"command": "${keychain:../x}"}"#,
            "1:34: `command`: `../x` is not a valid name of a secret",
        ),
        (r#"{"command": "${keychain:no}"}"#, "1:34: `command`: there is no secret `no`;"),
    ];
    for (entry, expected) in cases {
        let text = format!("{{\"mcpServers\": {{\"s\": {entry}, \"t\": {{\"command\": \"x\"}}}}}}");
        let config = parse(&text).expect(entry);
        let problem = config.servers[0].target.clone().expect_err(entry);
        assert!(problem.starts_with(&format!("/etc/g.json:{expected}")), "{entry}: {problem}");
        assert!(config.servers[1].target.is_ok(), "{entry}");
    }
}

#[test]
fn warnings_and_notes() {
    let text = r#"{"mcpServers": {"s": {"command": "a b", "timeout": 30, "oauth": {}, "//": "x"}},
        "servers": {"s": {"command": "y"}, "t": {"command": "x", "unheard": 1}, "a b": {}},
        "profiles": {"p": {"servers": ["s", "none"]}, "t": {}}}"#;
    let config = Config::parse(Path::new("g.json"), text.as_bytes(), &|_| None).expect("right");
    let expected = [
        "g.json:1:52: `timeout` of the server `s` is read as 30 milliseconds; write \"30s\"",
        "g.json:1:34: `command` of the server `s` has spaces in it; put its arguments into",
        "g.json:2:21: the server `s` is given at g.json:1:17 already; this one is not used",
        "g.json:2:81: `a b` cannot be the name of a server; use letters, digits, `-`, `_` and `.`, \
         such as `a-b`",
        "the profile `p` names `none`, which is no server",
        "the profile `t` has the name of the server at g.json:2:44",
    ];
    let found = &config.warnings;
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    let notes = ["1:56: `oauth` of", "1:69: `//` of", "2:66: `unheard` of"];
    let notes = notes.map(|note| format!("g.json:{note}"));
    assert_eq!(config.notes.len(), notes.len(), "{:#?}", config.notes);
    for (found, expected) in config.notes.iter().zip(notes) {
        assert!(found.starts_with(&expected), "{found}");
    }
    assert_eq!(config.servers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["s", "t"]);
}
