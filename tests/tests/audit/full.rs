//! A disk without room: in strict mode calls are refused, not made unrecorded.

use gantry_tests::temp_folder::{Bench, command, program};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::fixture::{AuditFixture, audit, log, records, tally};

/// Bytes that each file may have until there is room again.
const ROOM: u64 = 96 * 1024;

/// A gateway whose files find no room beyond a size. The signal that would end it is not sent: a
/// full disk sends none.
async fn open(name: &str, mode: &str) -> AuditFixture {
    let bench = Bench::new(&format!("audit-full-{name}"));
    let setting = json!({"mode": mode, "arguments": "redacted"});
    let fixture = AuditFixture::over(bench, setting, |_| {
        let mut shell = command("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program());
        shell
    });
    let fixture = fixture.await;
    leave_room(&fixture, Some(ROOM));
    fixture
}

fn leave_room(fixture: &AuditFixture, bytes: Option<u64>) {
    let id = i32::try_from(fixture.id()).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(id, Resource::Fsize, limit).expect("the limit can be set");
}

/// What a caller is told when something went wrong.
fn error(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn in_strict_mode_calls_are_refused_until_there_is_room() {
    let mut fixture = open("strict", "strict").await;
    let mut number = 0;
    let refused = loop {
        number += 1;
        assert!(number < 10_000, "the disk is never full");
        let answer = fixture.call("count", number).await;
        if !error(&answer).is_empty() {
            break answer;
        }
    };
    let text = error(&refused);
    assert!(text.contains("cannot be recorded") && text.contains("File too large"), "{text}");
    let made = tally(&fixture.bench).len();
    for _ in 0..20 {
        number += 1;
        let answer = fixture.call("count", number).await;
        assert!(error(&answer).contains("the call was refused"), "{answer}");
    }
    assert_eq!(tally(&fixture.bench).len(), made, "none of them was made");
    assert!(log(&fixture.bench).contains("audit log cannot be written"), "{}", log(&fixture.bench));
    leave_room(&fixture, None);
    let answer = fixture.call("count", 1_000_000).await;
    assert_eq!(error(&answer), "", "there is room again");
    let bench = fixture.finish().await;
    let records = records(&bench).await;
    let has = |number: u64, phase: &str| {
        records.iter().any(|it| it["arguments"]["number"] == number && it["phase"] == phase)
    };
    for number in tally(&bench) {
        assert!(has(number, "begun"), "{number} ran and has no record");
    }
    assert!(has(1_000_000, "ended") && has(number, "ended"), "also what was refused is recorded");
    let verified = audit(&bench, &["verify"]).await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[tokio::test]
async fn in_batched_mode_calls_go_on_and_what_is_lost_is_told() {
    let mut fixture = open("batched", "batched").await;
    let mut number = 0;
    while !log(&fixture.bench).contains("audit log cannot be written") {
        number += 1;
        assert!(number < 100_000, "the disk is never full");
        let answer = fixture.call("count", number).await;
        assert_eq!(error(&answer), "");
    }
    leave_room(&fixture, None);
    let bench = fixture.finish().await;
    let records = records(&bench).await;
    assert_eq!(records.len() as u64, number, "nothing is lost that could wait");
    let verified = audit(&bench, &["verify"]).await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
