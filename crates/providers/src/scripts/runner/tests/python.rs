//! Python scripts, with a stand-in for `uv` that is a shell script: it tells how often it was asked.

use futures_util::future::join_all;

use super::bench::{Bench, until};
use super::settings;

const WHO: &str = "# /// script\n# dependencies = []\n# ///\nimport os, sys\n\
    sys.stdin.readline()\nprint('{\"process\":%d}' % os.getpid())\n";

/// Finds the interpreter of the system, and says so in a file.
const UV: &str = "#!/bin/sh\necho $1 $2 >> log\n[ $1 = python ] && command -v python3; true\n";

#[tokio::test]
async fn the_first_call_lets_another_process_wait() {
    let bench = Bench::new(settings()).python("one", WHO).open();
    bench.write("uv", UV);
    bench.process("one").await;
    until(|| bench.waiting().len() == 1).await;
    let waiting = bench.waiting()[0];
    assert_eq!(bench.process("one").await, waiting);
}

#[tokio::test]
async fn uv_is_asked_once() {
    let bench = Bench::new(settings()).python("one", WHO).open();
    bench.write("uv", UV);
    join_all((0..5).map(|_| bench.process("one"))).await;
    bench.process("one").await;
    let once = "sync --quiet\npython find\n";
    assert_eq!(bench.read("log"), once);
    bench.write("one.py", &format!("{WHO}\n"));
    bench.process("one").await;
    assert_eq!(bench.read("log"), once.repeat(2), "a changed script may need something else");
}

#[tokio::test]
async fn a_script_without_a_block_is_run_too() {
    let bench = Bench::new(settings()).python("one", WHO.rsplit_once("///\n").unwrap().1).open();
    bench.write("uv", UV);
    bench.process("one").await;
    assert_eq!(bench.read("log"), "python find\n");
}

#[tokio::test]
async fn a_script_that_does_not_read_is_not_started_ahead() {
    let bench = Bench::new(settings()).python("one", "print('{\"process\": 1}')").open();
    bench.write("uv", UV);
    for _ in 0..3 {
        bench.process("one").await;
        assert_eq!(bench.runner.warm_pool.len(), 0);
    }
}

#[tokio::test]
async fn what_is_wrong_with_uv_is_told() {
    let bench = Bench::new(settings()).python("one", WHO).open();
    let missing = bench.call("one").await;
    assert!(missing.contains("is not installed; install it with `pip install uv`"), "{missing}");
    bench.write("uv", "#!/bin/sh\necho no such package >&2; exit 2\n");
    let failed = bench.call("one").await;
    assert!(failed.contains("no such package"), "{failed}");
    bench.write("uv", UV);
    bench.process("one").await;
}

#[tokio::test]
async fn an_interpreter_that_went_away_is_found_again() {
    let bench = Bench::new(settings()).python("one", WHO).open();
    let python = bench.folder.join("python3");
    let link = format!("ln -sf $(command -v python3) {}", python.display());
    bench.write("uv", &format!("#!/bin/sh\necho $1 >> log\n{link}\necho {}\n", python.display()));
    bench.process("one").await;
    std::fs::remove_file(&python).unwrap();
    until(|| bench.runner.warm_pool.len() == bench.waiting().len()).await;
    bench.refresh();
    for _ in 0..3 {
        bench.process("one").await;
    }
}
