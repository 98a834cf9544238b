//! What configurations mean, and what is wrong with them.

pub(crate) mod dialects;
pub(crate) mod documents;
pub(crate) mod entries;
pub(crate) mod files;
pub(crate) mod limits;
pub(crate) mod rules;
pub(crate) mod secrets;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_providers::ToolSettings;

use crate::config::{Config, Standby};

fn environment(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/home/me",
        "SET" => "value",
        "EMPTY" => "",
        _ => return None,
    };
    Some(value.to_owned())
}

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("/etc/g.json"), text.as_bytes(), &environment)
        .map_err(|error| error.to_string())
}

#[test]
fn everything() {
    let config = parse(
        r#"{
            // A comment.
            "$schema": "./schema.json",
            "listen": "127.0.0.1:${PORT:-0}",
            "tools": ["./tools", "/abs", "~/mine", "${SET}/x", {"name": "a.b"},],
            "uv": "./bin/uv", "standby": {"idle": "1m"}, "state": "sqlite://${SET}.db",
        }"#,
    )
    .expect("it is right");
    assert_eq!(config.listen.as_deref(), Some("127.0.0.1:0"));
    let folders = ["/etc/tools", "/abs", "/home/me/mine", "/etc/value/x"].map(PathBuf::from);
    assert_eq!(config.folders, folders);
    assert_eq!(config.uv, Some(PathBuf::from("/etc/bin/uv")));
    let standby =
        Standby { enabled: true, idle: Some(Duration::from_secs(60)), ..Standby::default() };
    assert_eq!(config.standby, Some(standby));
    assert_eq!(config.state.as_deref(), Some("sqlite:///etc/value.db"));
    let inline = &config.inline[0];
    assert_eq!((inline.manifest.as_str(), inline.place.line), (r#"{"name": "a.b"}"#, 5));
}

#[test]
fn startup_wait() {
    let cases = [
        ("0", Ok(Some(0))),
        ("250", Ok(Some(250))),
        ("\"2s\"", Ok(Some(2000))),
        ("\"60s\"", Ok(Some(60_000))),
        ("\"61s\"", Err(())),
        ("-1", Err(())),
        ("\"soon\"", Err(())),
    ];
    for (value, expected) in cases {
        let read = parse(&format!("{{\"startupWait\": {value}}}"));
        let wait = read.map(|it| it.startup_wait.map(|wait| wait.as_millis()));
        assert_eq!(wait.clone().map_err(drop), expected, "{value}: {wait:?}");
        if let Err(error) = wait {
            assert!(error.contains("`startupWait` has the wrong form"), "{error}");
        }
    }
    let shown = parse("{\"startupWait\": \"2s\"}").expect("it is right").to_json();
    assert_eq!(shown.at(&["startupWait"]).map(|it| it.to_string()), Some("2000".to_owned()));
}

#[test]
fn small_things() {
    let cases = [
        ("{}", None, None),
        (r#"{"uv": "uv"}"#, Some("uv"), None),
        (r#"{"state": "s"}"#, None, Some("sqlite:///etc/s")),
        (r#"{"state": "~/s"}"#, None, Some("sqlite:///home/me/s")),
    ];
    for (text, uv, state) in cases {
        let config = parse(text).expect(text);
        let found = config.uv.as_ref().and_then(|uv| uv.to_str());
        assert_eq!((found, config.state.as_deref()), (uv, state), "{text}");
    }
}

#[test]
fn standby() {
    let cases = [
        ("true", "true"),
        ("false", "false"),
        ("{}", "true"),
        (r#"{"total": 4, "perTool": 2}"#, r#"{"total":4,"perTool":2}"#),
        (r#"{"memory": "512MiB", "idle": "2m"}"#, r#"{"memory":536870912,"idle":120000}"#),
        (r#"{"memory": 1024, "idle": 500}"#, r#"{"memory":1024,"idle":500}"#),
    ];
    for (value, expected) in cases {
        let config = parse(&format!("{{\"standby\": {value}}}")).expect(value);
        let standby = config.standby.expect("it is given");
        assert_eq!(standby.to_json().as_str(), expected, "{value}");
    }
}

#[test]
fn pins() {
    let all = |mode: &str, suspicious: &str, own: bool, most: usize| {
        let bytes = if most == 5 { 1000 } else { 16 * 1024 * 1024 };
        format!(
            r#"{{"mode":"{mode}","suspicious":"{suspicious}","own":{own},"most":{most},"mostBytes":{bytes}}}"#
        )
    };
    let cases = [
        (r#""off""#, all("off", "hidden", false, 20_000)),
        (r#""locked""#, all("locked", "hidden", false, 20_000)),
        ("{}", all("compatible", "hidden", false, 20_000)),
        (r#""compatible""#, all("compatible", "hidden", false, 20_000)),
        (r#""hold""#, all("hold", "hidden", false, 20_000)),
        (r#""first-sight""#, all("hold", "hidden", false, 20_000)),
        (
            r#"{"mode": "locked", "suspicious": "hold", "own": true, "most": 5, "mostBytes": 1000}"#,
            all("locked", "hold", true, 5),
        ),
        (r#"{"suspicious": "flag"}"#, all("compatible", "flag", false, 20_000)),
    ];
    for (value, expected) in cases {
        let config = parse(&format!("{{\"pins\": {value}}}")).expect(value);
        assert_eq!(
            config.to_json().get("pins").expect("it is shown").as_str(),
            expected,
            "{value}"
        );
    }
}

#[test]
fn limits_of_tools() {
    let text = r#"{"toolLimits": {"children": 8, "queue": "1m", "timeout": 5000, "memory": "1GB",
        "stdout": "2MiB", "stderr": 4096, "grace": "1s", "olderVersions": 0, "rescan": "30s",
        "resolve": "3m"}}"#;
    let mut settings = ToolSettings::default();
    parse(text).expect(text).tool_limits.apply(&mut settings);
    let second = Duration::from_secs(1);
    assert_eq!((settings.children, settings.older_versions), (8, 0));
    assert_eq!((settings.queue, settings.timeout), (60 * second, 5 * second));
    assert_eq!((settings.child.grace, settings.rescan), (second, 30 * second));
    assert_eq!((settings.memory, settings.resolve), (Some(1_000_000_000), 180 * second));
    assert_eq!((settings.child.stdout, settings.child.stderr), (2 << 20, 4096));
}

#[test]
fn limits_of_clients() {
    let text = r#"{"clientLimits": {"share": 40, "sessions": 50, "sessionIdle": "5m", "streams": 60,
        "watched": 70, "parked": 80, "parkedPerPrincipal": 8, "tasks": 90, "tasksPerPrincipal": 9,
        "taskResults": "1MiB", "held": "2MiB", "replay": 4096}}"#;
    let mut settings = gantry_server::Settings::default();
    let config = parse(text).expect(text);
    config.client_limits.apply(&mut settings);
    assert_eq!((settings.principal_share, settings.sessions, settings.streams), (40, 50, 60));
    assert_eq!(settings.session_idle, Duration::from_secs(300));
    assert_eq!((settings.watched_total, settings.watched), (70, 1000), "the total alone");
    assert_eq!((settings.parked, settings.parked_of_principal), (80, 8));
    assert_eq!((settings.tasks, settings.tasks_of_principal), (90, 9));
    assert_eq!((settings.task_store, settings.task_memory), (1 << 20, 1 << 20));
    assert_eq!((settings.held, settings.replay_total), (2 << 20, 4096));
    let shown = config.to_json().get("clientLimits").expect("it is shown");
    let again = parse(&format!("{{\"clientLimits\": {shown}}}")).expect("it can be read");
    assert_eq!(again.client_limits, config.client_limits);
    assert!(parse("{}").expect("nothing is needed").to_json().get("clientLimits").is_none());
}

#[test]
fn mistakes() {
    let cases = [
        ("", "/etc/g.json:1:1: not valid JSON: EOF while parsing a value"),
        ("{\n  \"listen\" 1}", "/etc/g.json:2:12: not valid JSON: expected `:`"),
        ("{\n /* a", "/etc/g.json:2:2: not valid JSON: the comment has no end"),
        ("[]", "/etc/g.json:1:1: `the configuration` has the wrong form; write an object"),
        (
            "{\n  \"lisen\": 1}",
            "/etc/g.json:2:3: unknown key `lisen`; write `listen`, or remove it",
        ),
        ("{\"zzz\": 1}", "/etc/g.json:1:2: unknown key `zzz`; remove it; the keys are listen,"),
        ("{\"model\": {}}", "/etc/g.json:1:2: `model` is not yet supported"),
        ("{\"uv\": \"a\", \"uv\": \"b\"}", "/etc/g.json:1:13: the key `uv` is given twice"),
        ("{\"listen\": 1}", "/etc/g.json:1:12: `listen` has the wrong form"),
        ("{\"tools\": \"x\"}", "/etc/g.json:1:11: `tools` has the wrong form; write a list"),
        ("{\"tools\": [1]}", "/etc/g.json:1:12: `tools` has the wrong form"),
        ("{\"tools\": [\"\"]}", "/etc/g.json:1:12: `tools` has the wrong form"),
        ("{\"auth\": \"nobody\"}", "/etc/g.json:1:10: `auth` has the wrong form; write \"token\""),
        ("{\"auth\": {}}", "/etc/g.json:1:10: `auth` has the wrong form"),
        ("{\"auht\": \"none\"}", "/etc/g.json:1:2: unknown key `auht`; write `auth`"),
        ("{\"standby\": 1}", "/etc/g.json:1:13: `standby` has the wrong form; write true, false"),
        ("{\"standby\": {\"totl\": 1}}", "/etc/g.json:1:14: unknown key `totl`; write `total`"),
        ("{\"standby\": {\"total\": -1}}", "/etc/g.json:1:23: `total` has the wrong form"),
        ("{\"standby\": {\"memory\": \"1XB\"}}", "/etc/g.json:1:24: `memory` has the wrong form"),
        ("{\"standby\": {\"idle\": \"1\"}}", "/etc/g.json:1:22: `idle` has the wrong form"),
        ("{\"pins\": \"of\"}", "/etc/g.json:1:10: `pins` has the wrong form; write \"compatible\""),
        ("{\"pins\": 1}", "/etc/g.json:1:10: `pins` has the wrong form; write \"compatible\""),
        ("{\"pins\": {\"mod\": 1}}", "/etc/g.json:1:11: unknown key `mod`; write `mode`"),
        ("{\"pins\": {\"own\": 1}}", "/etc/g.json:1:18: `own` has the wrong form; write true or"),
        ("{\"toolLimits\": 1}", "/etc/g.json:1:16: `toolLimits` has the wrong form; write an"),
        ("{\"toolLimits\": {\"que\": 1}}", "/etc/g.json:1:17: unknown key `que`; write `queue`"),
        ("{\"clientLimits\": []}", "/etc/g.json:1:18: `clientLimits` has the wrong form; write an"),
        (
            "{\"clientLimits\": {\"shar\": 1}}",
            "/etc/g.json:1:19: unknown key `shar`; write `share`",
        ),
        (
            "{\"clientLimits\": {\"share\": 0}}",
            "/etc/g.json:1:28: `share` has the wrong form; write a",
        ),
        ("{\"toolLimits\": {\"children\": 0}}", "/etc/g.json:1:29: `children` has the wrong form"),
        ("{\"uv\": \"${NO}\"}", "/etc/g.json:1:8: the variable `NO`, needed by `uv`, is not set"),
        ("{\"uv\": \"${NO\"}", "/etc/g.json:1:8: `uv` has the wrong form; write `${VAR}`"),
    ];
    for (text, expected) in cases {
        let error = parse(text).expect_err(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
