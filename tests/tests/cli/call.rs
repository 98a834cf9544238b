//! `list`, `show` and `call`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::bench::Bench;

/// Gives back its arguments.
const ECHO: &str =
    "read -r line\nline=${line#*\\\"arguments\\\":}\nprintf '%s\\n' \"${line%\\}}\"\n";

fn echo(name: &str) -> Bench {
    let bench = Bench::new(name);
    bench.tool(
        "test.echo",
        ECHO,
        &json!({"text": {"type": "string", "description": "The text."},
            "count": {"type": "integer", "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}}}),
    );
    bench
}

#[test]
fn arguments_are_read_as_the_schema_says() {
    let bench = echo("arguments");
    bench.write("text.txt", "from a file");
    let cases: [(&[&str], _, _); 7] = [
        (&["text=5", "count=5"], "", json!({"text": "5", "count": 5})),
        (&["tags=a,b"], "", json!({"tags": ["a", "b"], "count": 1})),
        (&["text=@text.txt"], "", json!({"text": "from a file", "count": 1})),
        (&["text:=\"x\""], "", json!({"text": "x", "count": 1})),
        (&["--args", "{\"text\": \"a\"}", "count=2"], "", json!({"text": "a", "count": 2})),
        (&["-"], "{\"text\": \"piped\"}", json!({"text": "piped", "count": 1})),
        (&["text=@-"], "piped", json!({"text": "piped", "count": 1})),
    ];
    for (words, input, expected) in cases {
        for verb in [&["call"][..], &["tools", "call"]] {
            let words = [verb, &["--tools", "tools", "test.echo"], words].concat();
            let run = bench.run_with_input(&words, input);
            assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
            assert_eq!(run.json(), expected, "{words:?}");
            assert_eq!(run.err, "", "{words:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let bench = echo("wrong");
    bench.tool("test.fail", "echo broken >&2\nexit 7\n", &json!({}));
    bench.tool("test.slow", "sleep 100\n", &json!({}));
    let manifest = bench.path().join("tools/test.slow.tool.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, text.replace("20s", "100ms")).expect("it is written");
    let cases: [(&[&str], _, _); 12] = [
        (&["test.echo", "txet=a"], 2, "no argument `txet`; did you mean `text`?"),
        (&["test.echo", "count=x"], 2, "`count` must be an integer; got `x`"),
        (&["test.echo", "text"], 2, "`text` has no value"),
        (&["test.echo", "--args", "[]"], 2, "not a JSON object"),
        (&["test.echo", "--args", "{"], 2, "--args: "),
        (&["test.echo", "--args", "@none"], 2, "`none`"),
        (&["test.echo", "--args", "{\"count\": \"x\"}"], 2, "`count` must be an integer"),
        (&["test.ecko"], 4, "there is no tool `test.ecko`\nhint: did you mean `test.echo`?"),
        (&["other"], 4, "`gantry tools list`"),
        (&["test.fail"], 1, "exit status 7; it said: broken"),
        (&["test.slow"], 7, "did not finish within 100ms"),
        (&["test.echo", "--unknown"], 2, "--unknown"),
    ];
    for (words, code, expected) in cases {
        let run = bench.run(&[&["call", "--tools", "tools"], words].concat());
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
        assert_eq!(run.out, "", "{words:?}");
    }
}

#[test]
fn what_must_be_given_is_named_at_once() {
    let bench = Bench::new("missing");
    bench.tool("test.pair", ECHO, &json!({"a": {"type": "string"}, "b": {"type": "string"}}));
    let manifest = bench.path().join("tools/test.pair.tool.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let needed =
        text.replace("\"type\":\"object\"", "\"type\":\"object\",\"required\":[\"a\",\"b\"]");
    std::fs::write(&manifest, needed).expect("it is written");
    let run = bench.run(&["call", "--tools", "tools", "test.pair"]);
    assert!(run.err.contains("the arguments `a` and `b` are missing"), "{run:?}");
    assert_eq!(run.code, Some(2));
}

#[test]
fn what_is_printed() {
    let bench = Bench::new("printed");
    // The output schema wants a structured result beside what is there to be seen.
    let content =
        |blocks: &str| format!("echo '{{\"content\": [{blocks}], \"structuredContent\": {{}}}}'\n");
    let text = |text: &str| format!("{{\"type\": \"text\", \"text\": \"{text}\"}}");
    let image = "{\"type\": \"image\", \"mimeType\": \"image/png\", \"data\": \"YWJj\"}";
    let both = format!("{}, {image}", text("seen"));
    let log = "echo '{\"log\": \"at work\", \"level\": \"warning\"}' >&$GANTRY_NOTICES\necho '\"done\"'\n";
    let cases = [
        ("test.text", content(&format!("{}, {}", text("one"), text("two"))), "one\ntwo\n", ""),
        ("test.string", "echo '\"plain\"'\n".to_owned(), "plain\n", ""),
        ("test.number", "echo 1.50\n".to_owned(), "1.50\n", ""),
        (
            "test.object",
            "echo '{\"b\": 1, \"a\": []}'\n".to_owned(),
            "{\n  \"b\": 1,\n  \"a\": []\n}\n",
            "",
        ),
        ("test.image", content(image), "abc", "image/png, 3 bytes\n"),
        ("test.both", content(&both), "seen\n", "image/png, 3 bytes, not shown"),
        ("test.log", log.to_owned(), "done\n", "warning at work\n"),
    ];
    for (name, script, out, err) in cases {
        bench.tool(name, &script, &json!({}));
        let run = bench.run(&["call", "--tools", "tools", name]);
        assert_eq!(run.out, out, "{name}: {run:?}");
        assert!(run.err.starts_with(err), "{name}: {run:?}");
        let whole = bench.run(&["call", "--tools", "tools", name, "--json"]).json();
        assert!(whole["content"].is_array(), "{name}: {whole}");
    }
}

#[test]
fn lists_and_pages() {
    let bench = echo("list");
    bench.write("tools/broken.tool.json", "{\n");
    let listed = bench.run(&["tools", "--tools", "tools"]);
    assert_eq!(listed.out, "test_echo  1.0.0  For a test.\n", "{listed:?}");
    assert!(listed.err.contains("left out") && listed.err.contains("broken.tool.json:"));
    let listed = bench.run(&["tools", "list", "--tools", "tools", "--json"]).json();
    assert_eq!(listed[0]["name"], "test_echo", "{listed}");
    let shown = bench.run(&["tools", "show", "--tools", "tools", "test.echo"]);
    for part in [
        "text",
        "The text.",
        "= 1",
        "list of string",
        "runtime",
        "gantry call --tools tools test.echo",
    ] {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
    let shown = bench.run(&["tools", "show", "--tools", "tools", "test.echo", "--json"]).json();
    assert_eq!(shown["inputSchema"]["properties"]["count"]["default"], 1, "{shown}");
    let examples = bench.run(&["call", "word_count", "text=one two"]);
    assert_eq!(examples.json()["words"], 2, "without tools there are the examples: {examples:?}");
}

#[test]
fn a_reader_that_has_seen_enough() {
    let bench = Bench::new("pipe");
    let large = "head -c 900000 /dev/zero | tr '\\0' a | sed 's/.*/\"&\"/'\n";
    bench.tool("test.large", large, &json!({}));
    let words = ["call", "--tools", "tools", "test.large"];
    let mut child = bench.command(&words).spawn().expect("it starts");
    drop(child.stdout.take());
    let run = child.wait_with_output().expect("it ends");
    assert_eq!((run.status.code(), run.stderr), (Some(0), Vec::new()));
}

#[test]
fn an_interrupt_ends_the_call_and_its_processes() {
    let bench = Bench::new("interrupt");
    // It and its child hold the pipe open, and do not want to be asked to end.
    let script = "trap '' TERM INT\nmkfifo held\necho '{\"log\": \"here\"}' >&$GANTRY_NOTICES\n\
                  exec 4>held\nsleep 1000 &\nwait\nsleep 1000\n";
    bench.tool("test.stay", script, &json!({}));
    let mut command = bench.command(&["call", "--tools", "tools", "test.stay"]);
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("its errors")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "info here");
    let mut held = File::open(bench.path().join("tools/held")).expect("a pipe");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(lines.next().expect("a line").expect("text"), "error: the call was cancelled");
    let left = held.read_to_end(&mut Vec::new()).expect("the end, when nobody holds it");
    assert_eq!(left, 0);
}
