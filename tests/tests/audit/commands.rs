//! `gantry audit`: what it shows, what it finds, and that settings change while the gateway runs.

use std::fs;
use std::process::Stdio;

use gantry_tests::processes;
use gantry_tests::temp_folder::{Bench, command, program};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::fixture::{AuditFixture, audit, configure, log, records, volumes};

/// A record of five calls.
async fn recorded(name: &str) -> Bench {
    let mut fixture = AuditFixture::open(name, json!({"arguments": "redacted"})).await;
    fixture.call("count", 1).await;
    fixture.call("fail", 2).await;
    fixture.call("nothing", 3).await;
    let calls = json!([
        {"id": "a", "name": "tally_count", "arguments": {"number": 4}},
        {"id": "b", "name": "tally_count", "arguments": {"number": 5, "token": "hidden"}},
    ]);
    fixture.ask("gantry/batch", json!({"calls": calls})).await;
    fixture.finish().await
}

#[tokio::test]
async fn calls_are_found_by_what_is_asked_for() {
    let bench = recorded("search").await;
    let cases: [(&[&str], usize); 14] = [
        (&["tail"], 5),
        (&["tail", "-n", "2"], 2),
        (&["search"], 5),
        (&["search", "--tool", "tally_count"], 3),
        (&["search", "--tool", "*nothing"], 1),
        (&["search", "--outcome", "ok"], 3),
        (&["search", "--outcome", "ToolNotFoundError"], 1),
        (&["search", "--server", "tally"], 4),
        (&["search", "--principal", "local"], 5),
        (&["search", "--principal", "ada"], 0),
        (&["search", "--since", "1h"], 5),
        (&["search", "--until", "2026-01-01"], 0),
        (&["search", "--text", "\"number\":4"], 1),
        (&["export", "--tool", "tally_fail"], 1),
    ];
    for (words, expected) in cases {
        let run = audit(&bench, words).await;
        assert_eq!((run.code, run.out.lines().count()), (Some(0), expected), "{words:?}: {run:?}");
        assert!(!run.out.contains("hidden"), "{words:?}: {run:?}");
    }
    let file = bench.folder.join("out.jsonl");
    let out = file.to_str().expect("a path");
    let run = audit(&bench, &["export", "--out", out]).await;
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(fs::read_to_string(&file).expect("a file").lines().count(), 5);
    let wrong = audit(&bench, &["search", "--since", "soon"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[tokio::test]
async fn what_a_record_says() {
    let bench = recorded("members").await;
    let all = records(&bench).await;
    let failed = all.iter().find(|it| it["arguments"]["number"] == 2).expect("the second call");
    let expected = [
        ("phase", json!("ended")),
        ("principal", json!("local")),
        ("client", json!("desk")),
        ("method", json!("tools/call")),
        ("tool", json!("tally_fail")),
        ("server", json!("tally")),
        ("outcome", json!("ToolExecutionError")),
    ];
    for (key, value) in expected {
        assert_eq!(failed[key], value, "{failed}");
    }
    let masked = all.iter().find(|it| it["arguments"]["number"] == 5).expect("the last call");
    assert_eq!(masked["arguments"], json!({"number": 5, "token": "…"}));
}

#[tokio::test]
async fn damage_is_named_and_is_a_failure() {
    type Damage = fn(&mut Vec<String>);
    let cases: [(Damage, i32, &str); 5] = [
        (|_| {}, 0, "lines: valid"),
        (|lines| lines[2] = lines[2].replace("tally_fail", "tally_good"), 1, "record 2: changed"),
        (|lines| drop(lines.remove(2)), 1, "record 2: removed"),
        (|lines| lines.swap(2, 3), 1, "record 2: moved"),
        (|lines| lines.truncate(3), 1, "records 3 to 6: cut off"),
    ];
    let bench = recorded("damage").await;
    let volume = volumes(&bench).remove(0);
    let sound = fs::read_to_string(&volume).expect("a volume");
    for (damage, code, expected) in cases {
        let mut lines: Vec<String> = sound.lines().map(str::to_owned).collect();
        damage(&mut lines);
        fs::write(&volume, lines.join("\n") + "\n").expect("a file");
        let run = audit(&bench, &["verify"]).await;
        assert_eq!(run.code, Some(code), "{expected}: {run:?}");
        assert!(run.out.contains(expected), "{expected}: {run:?}");
        let run = audit(&bench, &["verify", "--json"]).await;
        let report: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(report["sound"], code == 0, "{report}");
    }
    fs::remove_file(&volume).expect("a file");
    let run = audit(&bench, &["verify"]).await;
    assert!(run.code == Some(1) && run.out.contains("the volume was removed"), "{run:?}");
}

#[tokio::test]
async fn a_record_can_be_followed_from_gateway_to_gateway() {
    let bench = recorded("follow").await;
    let mut follow = command(program());
    follow.args(["audit", "tail", "-f", "-n", "1", "--json"]);
    follow.env("XDG_STATE_HOME", &bench.folder).stdout(Stdio::piped());
    let mut follow = follow.spawn().expect("it starts");
    let mut lines = BufReader::new(follow.stdout.take().expect("its output")).lines();
    let mut next = async || {
        let line = soon("a record", lines.next_line()).await.expect("text").expect("a line");
        serde_json::from_str::<Value>(&line).expect("JSON")["arguments"]["number"].as_u64()
    };
    assert!(next().await.is_some_and(|number| number == 4 || number == 5), "the last one first");
    let mut fixture =
        AuditFixture::over(bench, json!({"arguments": "redacted"}), |gateway| gateway).await;
    for number in 10..13 {
        fixture.call("count", number).await;
        assert_eq!(next().await, Some(number));
    }
    fixture.finish().await;
}

#[tokio::test]
async fn settings_change_while_the_gateway_runs() {
    let mut fixture = AuditFixture::open("reload", json!("off")).await;
    fixture.call("count", 1).await;
    assert_eq!(volumes(&fixture.bench), Vec::<std::path::PathBuf>::new(), "nothing is recorded");
    configure(&fixture.bench, &json!("strict"));
    let folder = fixture.bench.folder.clone();
    let bench = Bench { folder };
    processes::until("the reload", || log(&bench).contains("configuration reloaded")).await;
    fixture.call("count", 2).await;
    assert_eq!(records(&bench).await.len(), 2, "it is on the disk before the answer");
    // The folder is the desk's.
    std::mem::forget(bench);
    fixture.finish().await;
}
