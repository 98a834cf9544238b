//! What the program says of its own health.

use std::fs::{self, DirEntry};
use std::net::SocketAddr;

use gantry_tests::http::Outgoing;
use gantry_tests::processes::until;
use gantry_tests::request::{call, list};
use serde_json::json;

use crate::program::{Program, state};

pub(crate) async fn get(address: SocketAddr, method: &str, path: &str) -> (u16, String) {
    let request = Outgoing {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("Host".to_owned(), address.to_string())],
        body: Vec::new(),
    };
    let mut answer = request.send(address).await;
    (answer.status, answer.text().await)
}

/// Each thread for connections beside the main runtime has a name of its own.
#[tokio::test]
async fn connections_have_as_many_threads_as_are_given() {
    for (threads, beside) in [("1", 0), ("3", 2)] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--threads", threads];
        let mut program = Program::start(&state("threads"), &serve);
        let address = program.address().await;
        assert_eq!(get(address, "GET", "/healthz").await.0, 200);
        let is_worker = |task: &DirEntry| {
            let name = fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("gantry-worker-"))
        };
        let workers = || {
            let tasks = fs::read_dir(format!("/proc/{}/task", program.id())).expect("it runs");
            tasks.flatten().filter(is_worker).count()
        };
        // A thread takes its name when it runs.
        until(&format!("{beside} threads"), || workers() >= beside).await;
        assert_eq!(workers(), beside, "--threads {threads}");
    }
}

#[tokio::test]
async fn health_readiness_and_counters() {
    let (program, address) = Program::serve(&state("status")).await;
    assert_eq!(get(address, "GET", "/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(get(address, "GET", "/readyz").await, (200, "ready\n".to_owned()));
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(get(address, "POST", path).await.0, 405, "{path}");
    }
    let count = async |line: &str| {
        let (status, text) = get(address, "GET", "/metrics").await;
        assert_eq!(status, 200);
        let found = text.lines().find_map(|it| it.strip_prefix(line)?.trim().parse::<u64>().ok());
        found.unwrap_or_else(|| panic!("`{line}` is not in:\n{text}"))
    };
    let calls = |outcome: &str| {
        format!("gantry_calls_total{{method=\"tools/call\",outcome=\"{outcome}\"}}")
    };
    assert_eq!(count(&calls("ok")).await, 0);
    call("echo", json!({"text": "x"})).ask(address).await;
    call("echo", json!({"text": 7})).ask(address).await;
    call("no_such_tool", json!({})).ask(address).await;
    list().ask(address).await;
    let expected = [("ok", 1), ("tool_error", 1), ("error", 1), ("input_required", 0)];
    for (outcome, number) in expected {
        assert_eq!(count(&calls(outcome)).await, number, "{outcome}");
    }
    assert_eq!(count("gantry_calls_total{method=\"tools/list\",outcome=\"ok\"}").await, 1);
    for gauge in ["gantry_calls_in_flight", "gantry_calls_parked", "gantry_streams"] {
        assert_eq!(count(gauge).await, 0, "{gauge}");
    }
    program.stop().await;
}
