//! The gateway is killed, without a chance to clean up, while its tools run: nothing of them is
//! left, neither programs nor what they have started.

use std::fs;

use gantry_tests::processes::{self, marked};
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A tool that says that it runs and stays.
const PYTHON: &str = "#!/usr/bin/env python3
import subprocess, sys
child = subprocess.Popen(['sleep', '1000'])
print(child.pid, file=open('started', 'a'))
child.wait()
";

/// The same as one file that `uv` runs.
fn script(folder: &Folder) -> String {
    let (name, value) = folder.mark().split_once('=').expect("a name and a value");
    let lines = format!(
        "requires-python = \">=3.11\"\ndependencies = []\n[tool.gantry]\nname = \"stay.script\"\n\
         version = \"1.0.0\"\ndescription = \"Stays.\"\nenv = {{{name} = \"{value}\"}}\n\
         [tool.gantry.input]\n[tool.gantry.output.properties.a]\ntype = \"string\"\n"
    );
    let lines: String = lines.lines().map(|line| format!("# {line}\n")).collect();
    format!("# /// script\n{lines}# ///\n{PYTHON}")
}

/// Runs so many calls of a tool, kills the gateway when all of them have started, and waits until
/// nothing of them is left.
async fn kill_under_load(name: &str, calls: usize, processes_each: usize, folder: Folder) {
    let mut tool_fixture = ToolFixture::open(folder).await;
    for _ in 0..calls {
        tool_fixture.begin_call(name, json!({})).await;
    }
    let started = tool_fixture.folder.tools("started");
    let count = || fs::read_to_string(&started).unwrap_or_default().lines().count();
    processes::until("the start of the tools", || count() == calls).await;
    let mark = tool_fixture.folder.mark().to_owned();
    let all = || marked(&mark).len() >= calls * processes_each;
    processes::until("all their processes", all).await;
    tool_fixture.signal(Signal::KILL);
    tool_fixture.end().await;
    processes::until_none(&mark).await;
}

fn patient() -> Value {
    json!({"timeout": "600s"})
}

#[tokio::test]
async fn programs_end_with_the_gateway() {
    let folder = Folder::new();
    folder.shell_with("stay.shell", "echo $$ >>started; exec sleep 1000", patient());
    kill_under_load("stay.shell", 64, 1, folder).await;
}

#[tokio::test]
async fn what_programs_have_started_ends_with_the_gateway() {
    let folder = Folder::new();
    let family = "trap '' TERM HUP; (sleep 1000 & sleep 1000) & echo $$ >>started; sleep 1000";
    folder.shell_with("stay.shell", family, patient());
    kill_under_load("stay.shell", 64, 4, folder).await;
}

#[tokio::test]
async fn what_has_left_its_group_ends_with_the_gateway() {
    let folder = Folder::new();
    let family = "setsid sleep 1000 & setsid nohup sleep 1000 >/dev/null 2>&1 & echo $$ >>started; \
                  sleep 1000";
    folder.shell_with("stay.shell", family, patient());
    kill_under_load("stay.shell", 16, 4, folder).await;
}

#[tokio::test]
async fn what_has_shed_its_environment_ends_with_the_gateway() {
    let folder = Folder::new();
    let family = "env -i /bin/sleep 1000 >/dev/null 2>&1 & echo $! >>started; sleep 1000";
    folder.shell_with("stay.shell", family, patient());
    let mut tool_fixture = ToolFixture::open(folder).await;
    for _ in 0..16 {
        tool_fixture.begin_call("stay.shell", json!({})).await;
    }
    let started = tool_fixture.folder.tools("started");
    let listed = || fs::read_to_string(&started).unwrap_or_default();
    processes::until("the start of the tools", || listed().lines().count() == 16).await;
    tool_fixture.signal(Signal::KILL);
    tool_fixture.end().await;
    let is_gone = |id: &str| !std::path::Path::new("/proc").join(id).join("exe").exists();
    processes::until("the end of all", || listed().lines().all(is_gone)).await;
}

#[tokio::test]
async fn python_programs_end_with_the_gateway() {
    let folder = Folder::new();
    folder.program("stay.py", PYTHON);
    let mut members = patient();
    members["command"] = json!("./stay.py");
    folder.manifest("stay.python", members);
    kill_under_load("stay.python", 8, 2, folder).await;
}

#[tokio::test]
async fn python_scripts_end_with_the_gateway() {
    let folder = Folder::new();
    folder.file("script.py", script(&folder));
    kill_under_load("stay.script", 8, 2, folder).await;
}

/// Without a kill too: the call has ended well, and so must what left its group but holds on to one
/// of its pipes.
#[tokio::test]
async fn what_has_left_its_group_ends_with_its_call() {
    let folder = Folder::new();
    let leave = "setsid sleep 1000 >/dev/null 2>&1 &\n\
        while [ \"$(cut -d' ' -f6 /proc/$!/stat)\" != $! ]; do :; done\necho '{}'";
    folder.shell("leave.group", leave);
    let mut tool_fixture = ToolFixture::open(folder).await;
    let result = tool_fixture.call("leave.group", json!({})).await;
    assert_eq!(result["isError"], false, "{result}");
    processes::until_none(tool_fixture.folder.mark()).await;
}

/// The reaper dies under the running gateway: programs still start, another reaper is there and
/// knows what began before it, and when the gateway is killed too, nothing is left.
#[tokio::test]
async fn a_killed_orphan_reaper_is_replaced() {
    let folder = Folder::new();
    folder.shell("answer.now", "echo '{}'");
    // Known by its group alone: it has shed the mark in its environment.
    let family = "env -i /bin/sleep 1000 >/dev/null 2>&1 & echo $! >>started; sleep 1000";
    folder.shell_with("stay.shell", family, patient());
    let mut tool_fixture = ToolFixture::open(folder).await;
    tool_fixture.begin_call("stay.shell", json!({})).await;
    let started = tool_fixture.folder.tools("started");
    let listed = || fs::read_to_string(&started).unwrap_or_default();
    processes::until("the start of the tool", || listed().lines().count() == 1).await;

    let gateway = tool_fixture.id();
    let reapers = || processes::children(gateway, "__warden");
    for round in 0..3 {
        let [reaper] = reapers()[..] else { panic!("one reaper: {:?}", reapers()) };
        processes::signal(reaper, Signal::KILL);
        let result = tool_fixture.call("answer.now", json!({})).await;
        assert_eq!(result["isError"], false, "round {round}: {result}");
        let is_replaced = || matches!(reapers()[..], [other] if other != reaper);
        processes::until("another reaper", is_replaced).await;
    }
    processes::until("a line in the log", || tool_fixture.log().contains("orphan reaper")).await;
    tool_fixture.begin_call("stay.shell", json!({})).await;
    processes::until("the start of another", || listed().lines().count() == 2).await;

    tool_fixture.signal(Signal::KILL);
    tool_fixture.end().await;
    let is_gone = |id: &str| !std::path::Path::new("/proc").join(id).join("exe").exists();
    processes::until("the end of all", || listed().lines().all(is_gone)).await;
    processes::until_none(tool_fixture.folder.mark()).await;
}
