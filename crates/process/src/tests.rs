//! Real processes, well and badly behaved.

mod left;
mod session;

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{Child, ChildLimits, End, Finished, Program, StartError};
use left::{assert_gone, live_members, until};

/// Long enough for anything that is to end by itself.
pub(crate) const LONG: Duration = Duration::from_secs(60);
pub(crate) const KILL: i32 = 9;

fn program(path: impl AsRef<Path>, args: &[&str]) -> Program {
    Program {
        program: path.as_ref().to_owned(),
        args: args.iter().map(ToString::to_string).collect(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        directory: None,
        memory: None,
    }
}

pub(crate) fn shell(script: &str) -> Program {
    program("/bin/sh", &["-c", script])
}

fn start(script: &str, limits: &ChildLimits) -> Child {
    Child::start(&shell(script), limits).unwrap()
}

/// Runs a script to its end and sees that nothing is left of it.
async fn run(script: &str, limits: &ChildLimits, input: &str, timeout: Duration) -> Finished {
    let child = start(script, limits);
    let group = child.id();
    let finished = child.finish(Bytes::copy_from_slice(input.as_bytes()), timeout).await;
    assert_gone(group).await;
    finished
}

async fn check(script: &str, input: &str, stdout: &[u8], end: End) -> Finished {
    let finished = run(script, &ChildLimits::default(), input, LONG).await;
    assert_eq!(finished.end, end, "{script}: {finished:?}");
    assert_eq!(finished.stdout, stdout, "{script}");
    assert!(!finished.stdout_overflow, "{script}");
    finished
}

#[tokio::test]
async fn output_and_end_are_told() {
    let exited = End::Exited;
    check("cat", "{\"arguments\":{}}\n", b"{\"arguments\":{}}\n", exited(0)).await;
    check("true", "", b"", exited(0)).await;
    check("echo one; echo two", "", b"one\ntwo\n", exited(0)).await;
    check("printf '\\377\\000\\001'", "", b"\xff\x00\x01", exited(0)).await;
    check("printf unended", "", b"unended", exited(0)).await;
    check("kill -SEGV $$", "", b"", End::Signalled(11)).await;
    let failed = check("echo why >&2; exit 3", "", b"", exited(3)).await;
    assert_eq!(failed.stderr, "why\n");
}

#[tokio::test]
async fn a_child_need_not_read_its_input() {
    let large = "x".repeat(4 << 20);
    check("exec <&-; echo closed", &large, b"closed\n", End::Exited(0)).await;
    check("exit 4", &large, b"", End::Exited(4)).await;
    check("head -c 3", &large, b"xxx", End::Exited(0)).await;
}

#[tokio::test]
async fn both_directions_flow_at_once() {
    let limits = ChildLimits { stdout: 4 << 20, ..ChildLimits::default() };
    let large = "x".repeat(4 << 20);
    let finished = run("exec cat", &limits, &large, LONG).await;
    assert_eq!((finished.stdout.len(), finished.stdout_overflow), (4 << 20, false));
}

#[tokio::test]
async fn a_flood_of_output_ends_the_call() {
    let limits = ChildLimits { stdout: 1000, ..ChildLimits::default() };
    for script in ["exec cat /dev/zero", "cat /dev/zero & cat /dev/zero", "exec yes"] {
        let finished = run(script, &limits, "", LONG).await;
        assert!(finished.stdout_overflow, "{script}");
        assert_eq!((finished.stdout.len(), finished.end), (1000, End::Signalled(KILL)), "{script}");
    }
    let finished = run("head -c 1001 /dev/zero", &limits, "", LONG).await;
    assert!(finished.stdout_overflow && finished.stdout.len() == 1000);
    let finished = run("head -c 1000 /dev/zero", &limits, "", LONG).await;
    assert!(!finished.stdout_overflow && finished.stdout.len() == 1000);
}

#[tokio::test]
async fn the_tail_of_standard_error_is_kept() {
    let limits = ChildLimits { stderr: 8, ..ChildLimits::default() };
    let cases = [
        ("printf 12345678", "12345678"),
        ("head -c 3000000 /dev/zero; printf 123456789", "23456789"),
        // The cut falls into a character, and is moved to the next.
        ("printf 'ä1234567'", "1234567"),
        ("printf 'a\\377b'", "a\u{fffd}b"),
    ];
    for (script, stderr) in cases {
        let finished = run(&format!("{{ {script}; }} >&2"), &limits, "", LONG).await;
        assert_eq!(finished.stderr, stderr, "{script}");
    }
}

#[tokio::test]
async fn a_timeout_asks_first() {
    let script = "trap 'echo asked; exit 0' TERM; while :; do sleep 0.01; done";
    let child = start(script, &ChildLimits { grace: LONG, ..ChildLimits::default() });
    let group = child.id();
    // The fifteenth bit of the signals it catches.
    until(|| left::signals(group, "SigCgt") >> 14 & 1 == 1).await;
    let finished = child.finish(Bytes::new(), Duration::ZERO).await;
    assert_eq!((&finished.stdout[..], finished.end), (&b"asked\n"[..], End::TimedOut));
    assert_gone(group).await;
}

#[tokio::test]
async fn a_timeout_ends_who_will_not_listen() {
    let limits = ChildLimits { grace: Duration::from_millis(20), ..ChildLimits::default() };
    for script in [
        "trap '' TERM; sleep 1000 & while :; do sleep 1000; done",
        "trap '' TERM; exec yes >&2",
        "trap '' TERM; exec yes >&3",
        "exec >&- 2>&- 3>&-; sleep 1000",
    ] {
        let finished = run(script, &limits, "", Duration::from_millis(100)).await;
        assert_eq!(finished.end, End::TimedOut, "{script}");
    }
}

#[tokio::test]
async fn what_a_child_leaves_behind_ends_with_it() {
    // The first keeps the pipes open; the second has left the group and keeps them too.
    check("sleep 1000 & echo done", "", b"done\n", End::Exited(0)).await;
    let finished = run("setsid sleep 1000 & echo $!", &ChildLimits::default(), "", LONG).await;
    assert_eq!(finished.end, End::Exited(0));
    let stray: u32 = std::str::from_utf8(&finished.stdout).unwrap().trim().parse().unwrap();
    until(|| !std::fs::exists(format!("/proc/{stray}")).unwrap()).await;
}

/// A signal or a hang-up of the gateway's terminal must not reach a child, nor a child the terminal.
#[tokio::test]
async fn a_child_has_a_session_of_its_own_without_a_terminal() {
    // Process, group, session and terminal; the name of a shell has no space in it.
    let script = "cut -d' ' -f1,5,6,7 /proc/$$/stat; (: </dev/tty) 2>/dev/null || echo none";
    let child = start(script, &ChildLimits::default());
    let id = child.id();
    let finished = child.finish(Bytes::new(), LONG).await;
    assert_eq!(finished.stdout, format!("{id} {id} {id} 0\nnone\n"));
}

#[tokio::test]
async fn notices_are_lines_on_the_third_descriptor() {
    let limits = ChildLimits { notice: 10, ..ChildLimits::default() };
    let script =
        "echo one >&$GANTRY_NOTICES; echo far too long a line >&3; printf 'two\n\nend' >&3";
    let mut child = start(script, &limits);
    let (mut first, mut second) = (child.notices(), child.notices());
    assert_eq!(child.finish(Bytes::new(), LONG).await.end, End::Exited(0));
    for line in ["one", "two", "end"] {
        assert_eq!(first.recv().await.unwrap(), line);
    }
    assert_eq!((first.recv().await, second.recv().await), (None, None));
}

#[tokio::test]
async fn notices_come_while_the_child_runs() {
    let mut child = start("echo ready >&3; read answer; echo $answer", &ChildLimits::default());
    let mut notices = child.notices();
    let finish = tokio::spawn(child.finish(Bytes::from_static(b"yes\n"), LONG));
    assert_eq!(notices.recv().await.unwrap(), "ready");
    assert_eq!(finish.await.unwrap().stdout, "yes\n");
}

#[tokio::test]
async fn nobody_needs_to_take_notices() {
    let limits = ChildLimits { notices: 2, ..ChildLimits::default() };
    let mut child = start("seq 100000 >&3; echo done", &limits);
    let mut notices = child.notices();
    assert_eq!(child.finish(Bytes::new(), LONG).await.stdout, "done\n");
    assert_eq!(notices.recv().await.unwrap(), "1");
    check("seq 100000 >&3; echo done", "", b"done\n", End::Exited(0)).await;
}

#[tokio::test]
async fn the_environment_is_the_given_one() {
    let mut program = program("/usr/bin/env", &[]);
    program.env = vec![("A".into(), "0".into()), ("A".into(), "1".into())];
    let child = Child::start(&program, &ChildLimits::default()).unwrap();
    let finished = child.finish(Bytes::new(), LONG).await;
    let mut lines: Vec<_> = std::str::from_utf8(&finished.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    assert!(lines[2].starts_with("GANTRY_OWNER="), "{lines:?}");
    assert_eq!(lines[..2], ["A=1", "GANTRY_NOTICES=3"]);
}

#[tokio::test]
async fn four_descriptors_are_inherited() {
    // The shell's own descriptor for the listing is closed again when it is looked for.
    let script = "for n in /proc/$$/fd/*; do [ -e $n ] && echo ${n##*/}; done; true";
    check(script, "", b"0\n1\n2\n3\n", End::Exited(0)).await;
}

#[tokio::test]
async fn descriptors_of_the_gateway_are_not_inherited() {
    let test = "tests::four_descriptors_are_inherited";
    let own = std::env::current_exe().unwrap();
    let script = format!("exec 7</dev/null 8>&2; exec {} --exact {test}", own.display());
    let finished = run(&script, &ChildLimits::default(), "", LONG).await;
    let text = String::from_utf8_lossy(&finished.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

#[tokio::test]
async fn a_program_that_cannot_start_is_named() {
    let scratch = left::Scratch::new();
    let plain = scratch.file("plain", "#!/bin/sh\n", 0o644);
    let orphan = scratch.file("orphan", "#!/no/such/interpreter\n", 0o755);
    let homeless = Program { directory: Some("/no/such/place".into()), ..shell("true") };
    let cases = [
        (program("no-such-program", &[]), "`no-such-program` was not found"),
        (program("/no/such/program", &[]), "`/no/such/program` was not found"),
        (program(&plain, &[]), "chmod +x"),
        (program("/tmp", &[]), "`/tmp` may not be executed"),
        (program(&orphan, &[]), "check the first line"),
        (homeless, "cannot work in `/no/such/place`"),
        (program("/bin/sh", &["a\0b"]), "zero byte"),
        (program("/bin/sh", &[&"x".repeat(4 << 20)]), "too long"),
    ];
    for (program, expected) in cases {
        let error: StartError = Child::start(&program, &ChildLimits::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_script_without_a_first_line_is_no_program() {
    let scratch = left::Scratch::new();
    for text in ["read line; echo $line $1\n", "\x7fELF\0\ntouch /tmp/run-by-a-shell\n", ""] {
        let path = scratch.file("bare", text, 0o755);
        let error = Child::start(&program(&path, &["two"]), &ChildLimits::default()).unwrap_err();
        assert!(error.to_string().contains("needs a first line such as"), "{error}");
    }
}

#[tokio::test]
async fn no_signal_is_kept_from_a_child() {
    // Above these are signals of the C library's own, with which its spawn leaves us.
    let script = "grep -E 'Sig(Blk|Ign)' /proc/self/status | grep -oE '.{7}$'";
    check(script, "", b"0000000\n0000000\n", End::Exited(0)).await;
}

#[tokio::test]
async fn whether_the_input_was_read_is_told() {
    let cases = [("read line", true), ("cat", true), ("true", false), ("exec <&-; exit 3", false)];
    for (script, read) in cases {
        let finished = run(script, &ChildLimits::default(), "line\n", LONG).await;
        assert_eq!(finished.input_read, read, "{script}");
    }
}

#[tokio::test]
async fn a_program_may_be_deleted_while_it_runs() {
    let scratch = left::Scratch::new();
    let path = scratch.file("tool", "#!/bin/sh\nread line\necho $line\n", 0o755);
    let child = Child::start(&program(&path, &[]), &ChildLimits::default()).unwrap();
    // The shell has opened the file when it reads its standard input.
    until(|| left::waits_for_input(child.id())).await;
    std::fs::remove_file(&path).unwrap();
    assert_eq!(child.finish(Bytes::from_static(b"still\n"), LONG).await.stdout, "still\n");
    let gone = Child::start(&program(&path, &[]), &ChildLimits::default()).unwrap_err();
    assert!(matches!(gone, StartError::NotFound(_)));
}

#[tokio::test]
async fn dropping_ends_the_whole_group() {
    let script = "sleep 1000 & echo ready >&3; wait";
    let child = start(script, &ChildLimits::default());
    let group = child.id();
    drop(child);
    assert_gone(group).await;

    let mut child = start(script, &ChildLimits::default());
    let (group, mut notices) = (child.id(), child.notices());
    let finish = tokio::spawn(child.finish(Bytes::new(), LONG));
    assert_eq!(notices.recv().await.unwrap(), "ready");
    assert!(live_members(group) >= 2);
    finish.abort();
    assert!(finish.await.unwrap_err().is_cancelled());
    assert_gone(group).await;
}

#[tokio::test]
async fn a_waiting_child_can_be_seen_to_end() {
    let child = start("read line; exit 5", &ChildLimits::default());
    assert!(!child.has_ended() && child.memory() > 0);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    child.ended().await.unwrap();
    assert!(child.has_ended() && child.memory() == 0);
    child.ended().await.unwrap();
    assert_eq!(child.finish(Bytes::from_static(b"late"), LONG).await.end, End::Signalled(KILL));
}

#[tokio::test]
async fn a_child_outlives_the_thread_that_asked_for_it() {
    let runtime = tokio::runtime::Handle::current();
    let ask = move || {
        let _inside = runtime.enter();
        start("read line; echo $line", &ChildLimits::default())
    };
    let child = std::thread::spawn(ask).join().unwrap();
    let finished = child.finish(Bytes::from_static(b"alive\n"), LONG).await;
    assert_eq!((&finished.stdout[..], finished.end), (&b"alive\n"[..], End::Exited(0)));
}

/// The part of the killed process in the test below; it has nothing to do in a common run.
#[tokio::test]
async fn acts_as_a_gateway() {
    if std::env::var_os("ACT_AS_A_GATEWAY").is_some() {
        let child = start("exec sleep 1000", &ChildLimits::default());
        std::fs::write("/proc/self/fd/3", format!("{}\n", child.id())).unwrap();
        child.finish(Bytes::new(), LONG).await;
    }
}

#[tokio::test]
async fn killing_the_gateway_ends_its_children() {
    let own = std::env::current_exe().unwrap();
    let mut gateway = program(own, &["--exact", "tests::acts_as_a_gateway"]);
    gateway.env.push(("ACT_AS_A_GATEWAY".into(), "1".into()));
    let mut gateway = Child::start(&gateway, &ChildLimits::default()).unwrap();
    let mut notices = gateway.notices();
    let finish = tokio::spawn(gateway.finish(Bytes::new(), LONG));
    let line = notices.recv().await.unwrap();
    let group = std::str::from_utf8(&line).unwrap().parse().unwrap();
    assert_eq!(live_members(group), 1);
    finish.abort();
    assert_gone(group).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once_leave_nothing() {
    let script = "sleep 1000 & read line; echo $line";
    let mut calls = JoinSet::new();
    let mut groups = Vec::new();
    for number in 0..200 {
        let child = start(script, &ChildLimits::default());
        groups.push(child.id());
        let input = Bytes::from(format!("{number}\n"));
        calls.spawn(async move { (input.clone(), child.finish(input, LONG).await) });
    }
    for (input, finished) in calls.join_all().await {
        assert_eq!((finished.stdout, finished.end), (input, End::Exited(0)));
    }
    for group in groups {
        assert_gone(group).await;
    }
}
