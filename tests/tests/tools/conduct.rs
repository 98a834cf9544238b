//! Programs that behave badly: they leave children, will not end, will not listen, crash.

use gantry_tests::processes;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// More than any tool here needs.
const LONG: &str = "25s";

/// Calls one tool that may take so long, and checks that no process of it is left.
async fn run(script: &str, arguments: Value, timeout: &str) -> Value {
    let folder = Folder::new();
    folder.shell_with("bad.tool", script, json!({"timeout": timeout}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    let result = tool_fixture.call("bad.tool", arguments).await;
    processes::until_none(tool_fixture.folder.mark()).await;
    assert!(processes::zombies(tool_fixture.id()).is_empty(), "{script}");
    result
}

/// Runs all cases at once, each behind a gateway of its own.
async fn check(cases: &[(&'static str, &'static str)], arguments: &Value, timeout: &'static str) {
    let mut running = JoinSet::new();
    for (script, expected) in cases.iter().copied() {
        let arguments = arguments.clone();
        running.spawn(async move { (script, expected, run(script, arguments, timeout).await) });
    }
    for (script, expected, result) in running.join_all().await {
        assert_eq!(result["isError"], true, "{script}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let named = text.contains("the tool `bad.tool`");
        assert!(named && text.contains(expected), "{script}: {text}");
    }
}

#[tokio::test]
async fn what_it_started_ends_with_it() {
    let scripts = [
        "sleep 1000 & echo '{\"a\": 1}'",
        "sleep 1000 >&- 2>&- & (sleep 1000 & sleep 1000) & echo '{\"a\": 1}'",
        "nohup sleep 1000 >nohup.out 2>&1 & echo '{\"a\": 1}'",
        "(trap '' TERM HUP INT; sleep 1000; sleep 1000) & echo '{\"a\": 1}'",
        "for n in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo '{\"a\": 1}'",
    ];
    for script in scripts {
        let result = run(script, json!({}), LONG).await;
        assert_eq!(result["structuredContent"], json!({"a": 1}), "{script}: {result}");
    }
}

#[tokio::test]
async fn who_will_not_end_is_ended() {
    let ended = "did not finish within 3s and was ended";
    let cases = [
        ("exec sleep 1000", ended),
        ("trap '' TERM; while :; do sleep 1000; done", ended),
        ("trap '' TERM; sleep 1000 & sleep 1000", ended),
        ("kill -STOP $$", ended),
        ("while :; do :; done", ended),
        ("exec <&- >&- 2>&- 3>&-; exec sleep 1000", ended),
        // What it says when it is asked to end is still heard.
        ("trap 'echo interrupted >&2; exit 0' TERM; sleep 1000 & wait", "it said: interrupted"),
    ];
    check(&cases, &json!({}), "3s").await;
}

#[tokio::test]
async fn how_it_ended_is_told() {
    let cases = [
        ("exit 3", "ended with exit status 3"),
        ("echo '{}'; exit 1", "ended with exit status 1"),
        ("echo it hurts >&2; exit 127", "exit status 127; it said: it hurts"),
        ("kill -SEGV $$", "was ended by signal 11"),
        ("kill -ABRT $$", "was ended by signal 6"),
        ("kill -KILL $$", "was ended by signal 9"),
        ("echo '{}'; kill -SEGV $$", "was ended by signal 11"),
        ("printf 'caf\\351' >&2; exit 2", "exit status 2; it said: caf\u{fffd}"),
    ];
    check(&cases, &json!({}), LONG).await;
}

#[tokio::test]
async fn one_that_wants_too_much_memory_says_so() {
    let hungry = "exec python3 -c 'print(len(bytes(1 << 30)))'";
    let folder = Folder::new();
    folder.shell_with("hungry.tool", hungry, json!({"memory": "200MB"}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    let text = tool_fixture.failure("hungry.tool", json!({})).await;
    assert!(text.contains("exit status 1") && text.contains("MemoryError"), "{text}");
    let endless = "ulimit -v 100000; x=xxxxxxxx; while :; do x=$x$x; done";
    check(&[(endless, "the tool `bad.tool` ")], &json!({}), LONG).await;
}

#[tokio::test]
async fn input_need_not_be_read() {
    let large = json!({"text": "x".repeat(900_000)});
    let cases = [
        "exec <&-; echo '{\"a\": 1}'",
        "echo '{\"a\": 1}'",
        "head -c 3 >/dev/null; echo '{\"a\": 1}'",
        "cat >/dev/null; echo '{\"a\": 1}'",
    ];
    for script in cases {
        for arguments in [json!({}), large.clone()] {
            let result = run(script, arguments, LONG).await;
            assert_eq!(result["structuredContent"], json!({"a": 1}), "{script}: {result}");
        }
    }
    check(&[("exit 4", "exit status 4"), ("exec <&-; exit 5", "exit status 5")], &large, LONG)
        .await;
}

#[tokio::test]
async fn a_closed_pipe_is_its_own_affair() {
    let cases = [
        ("exec >&-; echo '{}'", "ended with exit status"),
        ("exec 2>&-; echo oh >&2; echo '{}'; exit 6", "exit status 6"),
        ("exec >&- 2>&-; exit 7", "exit status 7"),
        ("exec >&-; exit 0", "wrote nothing to standard output"),
    ];
    check(&cases, &json!({}), LONG).await;
}
