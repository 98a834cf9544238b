//! Programs that are spoken to line by line.

use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::left::{assert_gone, live_members, until};
use super::{KILL, LONG, shell};
use crate::{End, LineSender, SKIPPED, Session, SessionLimits, SessionLines};

const LIMITS: SessionLimits = SessionLimits {
    line: 64,
    queue: 4,
    stderr: 256,
    stderr_rate: u32::MAX,
    stderr_burst: 1,
    grace: Duration::from_secs(10),
};

fn start(script: &str, limits: &SessionLimits) -> (Session, SessionLines) {
    Session::start(&shell(script), limits).unwrap()
}

async fn next(incoming: &mut Receiver<Result<Bytes, String>>) -> Result<String, String> {
    let line = timeout(LONG, incoming.recv()).await.expect("something comes in time");
    line.expect("the end is told first").map(|line| String::from_utf8(line.to_vec()).unwrap())
}

#[tokio::test]
async fn lines_go_both_ways_and_the_end_is_told() {
    let cases = [
        (
            "while read -r line; do echo \"got $line\"; done; exit 3",
            "got a b",
            End::Exited(3),
            "the program ended with status 3",
        ),
        (
            "read -r line; printf \"$line\"; echo oh no >&2; kill -9 $$",
            "a b",
            End::Signalled(KILL),
            "the program was killed by signal 9; stderr: oh no",
        ),
    ];
    for (script, expected, end, reason) in cases {
        let (session, mut lines) = start(script, &LIMITS);
        let group = session.id();
        lines.outgoing.send(Bytes::from_static(b"a\nb")).await.unwrap();
        if matches!(end, End::Exited(_)) {
            assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok(expected), "{script}");
            drop(lines.outgoing);
        } else {
            assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok(expected), "{script}");
        }
        assert_eq!(next(&mut lines.incoming).await.unwrap_err(), reason, "{script}");
        assert_eq!(session.ended().await, end, "{script}");
        assert_eq!(session.memory(), 0);
        assert_gone(group).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_keep_their_order_when_the_pipe_is_full() {
    const COUNT: usize = 20_000;
    let (_session, SessionLines { outgoing, mut incoming }) = start("cat", &LIMITS);
    let other = outgoing.clone();
    let send = |name: &'static str, outgoing: LineSender| async move {
        for number in 0..COUNT {
            let line = Bytes::from(format!("{name} {number} {}", "x".repeat(40)));
            let gathered = match number % 3 {
                0 => outgoing.gather(line),
                _ => Err(TrySendError::Full(line)),
            };
            match gathered {
                Ok(turn) => {
                    yield_now().await;
                    drop(turn);
                }
                Err(error) => outgoing.send(error.into_inner()).await.unwrap(),
            }
        }
    };
    let senders = [tokio::spawn(send("a", outgoing)), tokio::spawn(send("b", other))];
    let mut seen = [0, 0];
    for _ in 0..2 * COUNT {
        let line = next(&mut incoming).await.unwrap();
        let mut words = line.split(' ');
        let sender = usize::from(words.next() == Some("b"));
        assert_eq!(words.next(), Some(seen[sender].to_string().as_str()));
        seen[sender] += 1;
    }
    assert_eq!(next(&mut incoming).await.unwrap_err(), "the program ended with status 0");
    for sender in senders {
        sender.await.unwrap();
    }
}

#[tokio::test]
async fn the_first_of_a_turn_writes_for_all() {
    let (_session, SessionLines { outgoing, mut incoming }) = start("cat", &LIMITS);
    for _ in 0..100 {
        let turn = outgoing.gather(Bytes::from_static(b"first")).unwrap();
        assert!(turn.is_some());
        assert!(outgoing.gather(Bytes::from_static(b"second")).unwrap().is_none());
        outgoing.try_send(Bytes::from_static(b"third")).unwrap();
        drop(turn);
        for line in ["first", "second", "third"] {
            assert_eq!(next(&mut incoming).await.as_deref(), Ok(line));
        }
    }
    let turn = outgoing.gather(Bytes::from_static(b"first")).unwrap();
    let other = outgoing.clone();
    let sent = thread::spawn(move || other.gather(Bytes::from_static(b"second")));
    assert!(sent.join().unwrap().unwrap().is_none());
    for line in ["first", "second"] {
        assert_eq!(next(&mut incoming).await.as_deref(), Ok(line), "another thread waits for none");
    }
    drop(turn);
    let turn = outgoing.gather(Bytes::from_static(b"last")).unwrap();
    drop(outgoing);
    yield_now().await;
    drop(turn);
    assert_eq!(next(&mut incoming).await.as_deref(), Ok("last"), "a turn keeps the input open");
    assert_eq!(next(&mut incoming).await.unwrap_err(), "the program ended with status 0");
}

#[tokio::test]
async fn a_turn_gathers_no_more_than_it_may() {
    let (_session, SessionLines { outgoing, .. }) = start("sleep 60", &LIMITS);
    let line = Bytes::from(vec![b'x'; 32 << 10]);
    let _turn = outgoing.gather(line.clone()).unwrap();
    let taken = (0..100).take_while(|_| outgoing.try_send(line.clone()).is_ok()).count();
    assert!(taken < 20, "{taken} lines were taken that nobody reads");
}

#[tokio::test]
async fn what_is_sent_last_is_not_lost() {
    // More than a pipe holds, so that a part of it is left when the sender goes.
    let length = 3 << 20;
    for _ in 0..8 {
        let (_session, SessionLines { outgoing, mut incoming }) =
            start("read -r line; echo $line; wc -c", &LIMITS);
        outgoing.send(Bytes::from_static(b"go")).await.unwrap();
        assert_eq!(next(&mut incoming).await.as_deref(), Ok("go"));
        outgoing.try_send(Bytes::from(vec![b'x'; length])).unwrap();
        drop(outgoing);
        let counted = next(&mut incoming).await.unwrap();
        assert_eq!(counted.trim(), (length + 1).to_string());
    }
}

#[tokio::test]
async fn a_long_line_is_skipped_and_noted() {
    let script = "head -c 100000 /dev/zero | tr '\\0' x; echo; echo short; cat";
    let (session, mut lines) = start(script, &LIMITS);
    assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("short"));
    assert!(session.stderr().contains("a line is longer than the limit of 64 bytes"));
    session.note("ours");
    assert!(session.stderr().ends_with("[gantry] ours\n"), "{}", session.stderr());
    assert!(session.memory() > 0);
    assert_eq!(
        session.stderr_summary().as_deref(),
        Some("[gantry] ours"),
        "it said nothing itself"
    );
}

/// Packages are often started by a wrapper, which is small itself.
#[tokio::test]
async fn the_memory_of_its_descendants_counts() {
    let script = "sh -c 'x=$(head -c 20000000 /dev/zero | tr \"\\0\" x); echo ready; cat'; true";
    let (session, mut lines) = start(script, &LIMITS);
    assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("ready"));
    assert!(session.memory() > 20_000_000, "{}", session.memory());
}

/// Whichever end of its line says what it answers.
#[tokio::test]
async fn of_an_answer_that_is_too_long_it_is_told_whose_it_was() {
    let fill = "head -c 100000 /dev/zero | tr '\\0' x";
    let first = format!("printf '{{\"id\":5,\"result\":{{\"a\":\"'; {fill}; echo '\"}}}}'");
    let last = format!("printf '{{\"result\":{{\"a\":\"'; {fill}; echo '\"}},\"id\":5}}'");
    for script in [first, last] {
        let (_session, mut lines) = start(&format!("{script}; echo short; cat"), &LIMITS);
        let rest = next(&mut lines.incoming).await.expect("what is left of it");
        assert!(rest.contains(&format!("\"id\":5,\"{SKIPPED}\"")), "{script}: {rest}");
        assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("short"));
    }
}

#[tokio::test]
async fn the_last_words_are_its_own() {
    let (session, mut lines) = start("echo mine >&2; echo ready; cat", &LIMITS);
    assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("ready"));
    while !session.stderr().contains("mine") {
        yield_now().await;
    }
    session.note("ours");
    assert_eq!(session.stderr_summary().as_deref(), Some("mine"));
}

#[tokio::test]
async fn all_that_was_written_before_the_end_is_heard() {
    let (_session, mut lines) =
        start("for i in 1 2 3 4 5 6 7 8 9; do echo $i; done; printf last", &LIMITS);
    let mut heard = Vec::new();
    while let Ok(line) = next(&mut lines.incoming).await {
        heard.push(line);
    }
    assert_eq!(heard.join(" "), "1 2 3 4 5 6 7 8 9 last");
}

#[tokio::test]
async fn stopping_asks_first_and_kills_last() {
    let quick = SessionLimits { grace: Duration::from_millis(50), ..LIMITS };
    // Waited for once in full: who minds the signal has as long again to end.
    let patient = SessionLimits { grace: Duration::from_secs(2), ..LIMITS };
    let cases = [
        ("cat; exit 5", &LIMITS, End::Exited(5)),
        ("trap 'exit 6' TERM; echo ready; sleep 1000 & wait", &patient, End::Exited(6)),
        ("trap '' TERM; echo ready; while :; do sleep 0.01; done", &quick, End::Signalled(KILL)),
        (
            "trap '' TERM; echo closed >&2; exec >&-; while :; do sleep 0.01; done",
            &quick,
            End::Signalled(KILL),
        ),
    ];
    for (script, limits, expected) in cases {
        let (session, mut lines) = start(script, limits);
        if script.contains("ready") {
            assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("ready"), "{script}");
        }
        until(|| !script.contains("closed") || session.stderr().contains("closed")).await;
        assert_eq!(timeout(LONG, session.stop()).await.unwrap(), expected, "{script}");
        assert_gone(session.id()).await;
    }
}

#[tokio::test]
async fn dropping_kills_the_whole_group() {
    let (session, mut lines) = start("sleep 1000 & echo ready; cat", &LIMITS);
    assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("ready"));
    let group = session.id();
    until(|| live_members(group) == 3).await;
    drop(session);
    assert_gone(group).await;
}

#[tokio::test]
async fn a_program_is_given_no_more_than_its_streams() {
    let (_session, mut lines) =
        start("echo \"${GANTRY_NOTICES-none}\"; ls /proc/self/fd | tr '\\n' ' '", &LIMITS);
    assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("none"));
    // The fourth is the directory that is being listed.
    assert_eq!(next(&mut lines.incoming).await.as_deref(), Ok("0 1 2 3"));
}
