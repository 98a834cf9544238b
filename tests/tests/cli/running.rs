//! `status`, `restart` and `logs`: what a running gateway tells of its servers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};

use crate::bench::{Bench, Run};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A page that answers so many requests, one after the other, and gives what they were.
fn serve_requests(
    count: usize,
    mut answer: impl FnMut(&str) -> (u16, Value) + Send + 'static,
) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let serve = move || {
        let mut asked = Vec::new();
        for _ in 0..count {
            let (mut stream, _) = listener.accept().expect("a client");
            let lines = BufReader::new(stream.try_clone().expect("its other half")).lines();
            let head: Vec<String> =
                lines.map(|it| it.expect("text")).take_while(|it| !it.is_empty()).collect();
            assert!(head.contains(&format!("authorization: Bearer {TOKEN}")), "{head:?}");
            let page = head[0].trim_end_matches(" HTTP/1.1").to_owned();
            let (status, body) = answer(&page);
            let body = body.to_string();
            let length = body.len();
            write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{body}")
                .expect("it reads");
            asked.push(page);
        }
        asked
    };
    (url, thread::spawn(serve))
}

fn server(name: &str) -> Value {
    json!({"name": name, "state": "ready", "reason": null, "transport": "stdio", "place": "npx fs",
        "revision": "2025-11-25", "server": "files 1.0", "tools": 3, "resources": 0, "prompts": 1,
        "problems": [], "process": 7, "memory_bytes": 1_048_576, "restarts": 0, "in_flight": 2,
        "age_ms": 5000})
}

fn answer(page: &str) -> (u16, Value) {
    match page {
        "GET /api/servers" => (200, json!({"servers": [server("files")]})),
        "GET /api/servers/files" | "POST /api/servers/files/restart" => (200, server("files")),
        "GET /api/servers/files/log" => (200, json!({"name": "files", "log": "one\ntwo\n"})),
        _ => (
            404,
            json!({"error": {"error_type": "ResourceNotFound", "error_message": "there is no server",
            "error_details": {"advice": "look again"}}}),
        ),
    }
}

#[test]
fn what_the_gateway_tells_is_shown() {
    let bench = Bench::new("running");
    let cases: [(&[&str], _, _, _); 7] = [
        (&["status"], 0, "GET /api/servers", "files   ready  stdio      2025-11-25  3"),
        (&["status", "files"], 0, "GET /api/servers/files", "  memory     1.0 MiB\n"),
        (&["status", "--json"], 0, "GET /api/servers", "\"memory_bytes\": 1048576"),
        (&["logs", "files"], 0, "GET /api/servers/files/log", "one\ntwo\n"),
        (&["restart", "files"], 0, "POST /api/servers/files/restart", ""),
        (&["status", "a b"], 4, "GET /api/servers/a%20b", ""),
        (&["restart", "other"], 4, "POST /api/servers/other/restart", ""),
    ];
    let (url, server) = serve_requests(cases.len(), answer);
    let mut asked = Vec::new();
    for (words, code, page, expected) in cases {
        let run = bench.run(&[words, &["--url", &url, "--token", TOKEN]].concat());
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.out.contains(expected), "{words:?}: {run:?}");
        assert_eq!(run.err.contains("look again"), code == 4, "{words:?}: {run:?}");
        asked.push(page.to_owned());
    }
    assert_eq!(server.join().expect("it serves"), asked);
}

#[test]
fn a_log_is_followed_while_its_beginning_goes() {
    let bench = Bench::new("running-follow");
    let mut logs = ["one\ntwo\n", "two\nthree\n", "two\nthree\n"].into_iter();
    let (url, server) = serve_requests(4, move |page| match logs.next() {
        Some(log) => (200, json!({"name": "files", "log": log})),
        None => answer(&page.replace("files", "gone")),
    });
    let run = bench.run(&["logs", "files", "--follow", "--url", &url, "--token", TOKEN]);
    assert_eq!((run.code, run.out.as_str()), (Some(4), "one\ntwo\nthree\n"), "{run:?}");
    server.join().expect("it serves");
}

#[test]
fn without_a_gateway_it_says_what_to_do() {
    let bench = Bench::new("running-none");
    let closed = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("an address").to_string();
    drop(closed);
    bench.write("here.json", &json!({"listen": address}).to_string());
    let given = ["--url", &address, "--token", "t"];
    let cases: [(&[&str], _, _); 6] = [
        (&["status"], 6, "`gantry serve`"),
        (&["status", "--config", "here.json"], 6, "here.json"),
        (&["restart", "a"], 6, "no gateway is running"),
        (&[&["status"], &given[..]].concat(), 6, "`gantry serve`"),
        (&[&["logs", "a"], &given[..]].concat(), 6, "no gateway answers"),
        (&["status", "--url", "ftp://h"], 2, "http://127.0.0.1:4268"),
    ];
    for (words, code, expected) in cases {
        let run = bench.run(words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
    }
}

#[tokio::test]
async fn a_real_gateway_answers() {
    let tool_fixture = ToolFixture::open(Folder::new()).await;
    let bench = Bench::new("running-real");
    let state = tool_fixture.folder.path().to_owned();
    let run = move |state: &std::path::Path, words: &[&str]| {
        Run::of(&bench.command(words).env("XDG_STATE_HOME", state).output().expect("it runs"))
    };
    let status = run(&state, &["status"]);
    assert_eq!((status.code, status.out.as_str()), (Some(0), ""), "{status:?}");
    assert!(status.err.contains("no servers"), "{status:?}");
    assert_eq!(run(&state, &["status", "--json"]).json(), json!([]));
    for words in [&["status", "a"][..], &["logs", "a"], &["restart", "a"]] {
        let missing = run(&state, words);
        assert_eq!(missing.code, Some(4), "{words:?}: {missing:?}");
        assert!(missing.err.contains("there is no server `a`"), "{words:?}: {missing:?}");
    }
    let stranger = run(&state.join("elsewhere"), &["status"]);
    assert_eq!(stranger.code, Some(6), "{stranger:?}");
}
