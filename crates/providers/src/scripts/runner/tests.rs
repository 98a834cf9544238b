//! Processes that wait, with real processes.

mod bench;
mod python;

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;

use crate::scripts::ToolSettings;
use bench::{Bench, alive, kill, until};

/// Says which process served the call, after it has read its input.
const WHO: &str = "read line; echo {\\\"process\\\":$$}";

fn settings() -> ToolSettings {
    ToolSettings { standby_idle: Duration::from_secs(600), ..ToolSettings::default() }
}

#[tokio::test]
async fn the_process_that_waits_serves_the_call() {
    let bench = Bench::new(settings()).shell("one", WHO, "true").open();
    let first = bench.process("one").await;
    until(|| bench.waiting().len() == 1).await;
    let waiting = bench.waiting()[0];
    assert_ne!(first, waiting, "one process serves one call");
    assert_eq!(bench.process("one").await, waiting);
    let statistics = bench.statistics();
    assert_eq!((statistics[0].standby_hits, statistics[0].standby_misses), (1, 1));
}

#[tokio::test]
async fn one_process_serves_one_call() {
    let settings = ToolSettings { children: 4, ..settings() };
    let bench = Bench::new(settings).shell("one", WHO, "true").shell("two", WHO, "2").open();
    let calls = (0..100).map(|number| bench.process(["one", "two", "one"][number % 3]));
    let processes: HashSet<u32> = join_all(calls).await.into_iter().collect();
    assert_eq!(processes.len(), 100);
    assert!(bench.runner.warm_pool.len() <= 4);
    bench.runner.stop();
    for process in processes {
        until(|| !alive(process)).await;
    }
}

#[tokio::test]
async fn none_waits_unless_it_is_wanted() {
    let off = ToolSettings { standby: false, ..settings() };
    for (settings, wish) in [(off, "true"), (settings(), "false"), (settings(), "null")] {
        let bench = Bench::new(settings).shell("one", WHO, wish).open();
        bench.process("one").await;
        bench.process("one").await;
        assert_eq!(bench.runner.warm_pool.len(), 0, "{wish}");
    }
}

#[tokio::test]
async fn a_number_waits_before_the_first_call() {
    let bench = Bench::new(settings()).shell("one", WHO, "2").open();
    bench.refresh();
    until(|| bench.waiting().len() == 2).await;
    let waiting = bench.waiting();
    assert!(waiting.contains(&bench.process("one").await));
    until(|| bench.waiting().len() == 2).await;
}

#[tokio::test]
async fn one_that_dies_while_it_waits_is_replaced() {
    let bench = Bench::new(settings()).shell("one", WHO, "1").open();
    bench.refresh();
    until(|| bench.waiting().len() == 1).await;
    let before = bench.waiting()[0];
    kill(before).await;
    until(|| bench.waiting().first().is_some_and(|now| *now != before)).await;
    // A call that comes before anyone has noticed does not notice either.
    let before = bench.waiting()[0];
    kill(before).await;
    assert_ne!(bench.process("one").await, before);
}

#[tokio::test]
async fn what_has_read_its_input_is_not_run_again() {
    let script = "read line; echo run >> log; kill -9 $$";
    let bench = Bench::new(settings()).shell("one", script, "1").open();
    bench.refresh();
    for calls in 1..=3 {
        until(|| bench.waiting().len() == 1).await;
        let result = bench.call("one").await;
        assert!(result.contains("signal 9"), "{result}");
        assert_eq!(bench.read("log"), "run\n".repeat(calls));
    }
}

#[tokio::test]
async fn a_long_call_is_no_reason_to_have_none_wait() {
    let script = format!("read line; while [ -e long ]; do sleep 0.01; done; echo | ({WHO})");
    let bench = Bench::new(settings()).shell("one", &script, "true").open();
    bench.process("one").await;
    until(|| bench.waiting().len() == 1).await;
    let taken = bench.waiting()[0];
    bench.write("long", "");
    let replaced = async {
        until(|| bench.waiting().first().is_some_and(|now| *now != taken)).await;
        std::fs::remove_file(bench.folder.join("long")).unwrap();
    };
    let (served, ()) = tokio::join!(bench.process("one"), replaced);
    assert_eq!(served, taken);
}

#[tokio::test]
async fn a_changed_file_is_run_as_it_is_now() {
    let bench = Bench::new(settings()).shell("one", WHO, "true").open();
    bench.process("one").await;
    until(|| bench.waiting().len() == 1).await;
    let old = bench.waiting()[0];
    bench.write("one.sh", "#!/bin/sh\nread line; echo '\"new\"'\n");
    assert!(bench.call("one").await.contains("new"));
    until(|| !alive(old)).await;
}

#[tokio::test]
async fn a_changed_or_removed_manifest_ends_what_waits() {
    let bench = Bench::new(settings()).shell("one", WHO, "true").shell("two", WHO, "true").open();
    bench.process("one").await;
    bench.process("two").await;
    until(|| bench.waiting().len() == 2).await;
    let old = bench.waiting();
    let mut changed = (*bench.tools["one"]).clone();
    changed.env.push(("A".to_owned(), "1".to_owned()));
    bench.runner.refresh(&[changed.into()]);
    assert!(bench.waiting().is_empty());
    for process in old {
        until(|| !alive(process)).await;
    }
}

#[tokio::test]
async fn nobody_waits_for_a_tool_that_is_not_called() {
    let idle = ToolSettings { standby_idle: Duration::from_secs(1), ..settings() };
    let bench = Bench::new(idle).shell("one", &format!("echo $$ >> log; {WHO}"), "true").open();
    join_all((0..4).map(|_| bench.process("one"))).await;
    assert!(bench.runner.warm_pool.len() > 0);
    until(|| bench.runner.warm_pool.len() == 0).await;
    for process in bench.read("log").lines() {
        until(|| !alive(process.parse().unwrap())).await;
    }
}

#[tokio::test]
async fn those_that_wait_are_bounded() {
    let total = ToolSettings { standby_total: 2, ..settings() };
    let each = ToolSettings { standby_per_tool: 2, ..settings() };
    let children = ToolSettings { children: 2, ..settings() };
    for settings in [total, each, children] {
        let bench = Bench::new(settings.clone()).shell("one", WHO, "9").open();
        bench.refresh();
        until(|| bench.waiting().len() == 2).await;
        bench.process("one").await;
        until(|| bench.waiting().len() == 2).await;
        assert_eq!(bench.runner.warm_pool.len(), 2, "{settings:?}");
    }
}

#[tokio::test]
async fn the_tool_called_longest_ago_gives_way() {
    let settings = ToolSettings { standby_total: 1, ..settings() };
    let bench = Bench::new(settings).shell("one", WHO, "true").shell("two", WHO, "true").open();
    bench.process("one").await;
    until(|| bench.waiting().len() == 1).await;
    let old = bench.waiting()[0];
    bench.process("two").await;
    until(|| bench.waiting().first().is_some_and(|now| *now != old)).await;
    until(|| !alive(old)).await;
    let waiting = bench.waiting()[0];
    assert_eq!(bench.process("two").await, waiting);
}

#[tokio::test]
async fn who_waits_gives_its_place_to_a_call() {
    let settings = ToolSettings { children: 1, ..settings() };
    let script = "read line; echo 1";
    let bench = Bench::new(settings).shell("one", WHO, "true").shell("two", script, "false").open();
    bench.process("one").await;
    until(|| bench.waiting().len() == 1).await;
    let old = bench.waiting()[0];
    bench.call("two").await;
    until(|| !alive(old)).await;
}

#[tokio::test]
async fn memory_is_bounded() {
    let settings = ToolSettings { standby_memory: 1, ..settings() };
    let settings = ToolSettings { standby_idle: Duration::from_millis(80), ..settings };
    let bench = Bench::new(settings).shell("one", &format!("echo run >> log; {WHO}"), "1").open();
    bench.refresh();
    until(|| bench.runner.warm_pool.len() == 0 && bench.read("log") == "run\n").await;
    bench.process("one").await;
    assert_eq!(bench.runner.warm_pool.len(), 0, "none is started that would be too much");
}

#[tokio::test]
async fn a_tool_that_does_not_wait_is_left_alone() {
    let bench = Bench::new(settings()).shell("one", "echo run >> log; echo 1", "1").open();
    bench.refresh();
    until(|| bench.runner.warm_pool.len() == 0 && bench.read("log").len() >= 12).await;
    let before = bench.read("log");
    for calls in 1..=3 {
        assert!(bench.call("one").await.contains("\"isError\":false"));
        assert_eq!(bench.read("log"), format!("{before}{}", "run\n".repeat(calls)));
    }
}

#[tokio::test]
async fn stopping_ends_those_that_wait() {
    let bench = Bench::new(settings()).shell("one", WHO, "3").open();
    bench.refresh();
    until(|| bench.waiting().len() == 3).await;
    let waiting = bench.waiting();
    bench.runner.stop();
    for process in waiting {
        until(|| !alive(process)).await;
    }
    let refused = bench.call("one").await;
    assert!(refused.contains("stopping"), "{refused}");
}
