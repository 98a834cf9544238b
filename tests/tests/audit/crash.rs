//! A crowd of calls of every kind, and a gateway that is killed in their midst.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gantry_tests::temp_folder::Bench;
use serde_json::{Value, json};

use crate::fixture::{AuditFixture, audit, number, records, tally};

/// Calls that are sent at once.
const CROWD: u64 = 250;

/// Every so many calls one is given up.
const GIVEN_UP: u64 = 50;

/// Every so many calls one waits for an approval that never comes: waiting takes its time.
const UNAPPROVED: u64 = 2500;

/// How a call that a policy refuses ends, in the record.
const REFUSED: &str = "PermissionError";

/// Whether a client is told how a call ended.
fn is_answered(number: u64) -> bool {
    number % GIVEN_UP != 7
}

/// The tool of a call that a policy refuses, which policy, and by what of it: a rule, the trust
/// gate, or an approval that nobody gave.
fn refusal(number: u64) -> Option<[&'static str; 3]> {
    match (number % UNAPPROVED, number % 10) {
        (105, _) => Some(["tally_mail", "approval", "expired"]),
        (_, 5) => Some(["tally_secret", "rules", "no secrets"]),
        (_, 9) => Some(["tally_wipe", "trust", "destructive"]),
        _ => None,
    }
}

/// A call of each kind in turn: good ones, failing ones, wrong ones, refused ones, and some that are
/// to be given up.
fn message(number: u64) -> Value {
    let call = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    };
    if !is_answered(number) {
        return call("tally_wait", json!({"number": number}));
    }
    if let Some([tool, ..]) = refusal(number) {
        return call(tool, json!({"number": number}));
    }
    match number % 10 {
        0 | 1 => call("tally_count", json!({"number": number})),
        2 => call("tally_count", json!({"number": number, "more": [null, "ä\n"]})),
        3 => call("tally_fail", json!({"number": number})),
        4 => call("tally_none", json!({"number": number})),
        6 => call("tally_count", json!({"number": number.to_string()})),
        7 => call("another", json!({"number": number})),
        _ => json!({"jsonrpc": "2.0", "id": number, "method": "resources/read",
            "params": {"uri": format!("none://{number}")}}),
    }
}

/// The words of a client that waits for a call no longer.
fn give_up(number: u64) -> Value {
    let params = json!({"requestId": number});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// Makes calls in crowds, waits for the answers of each, and gives up those that wait; gives the
/// numbers of those answered.
async fn load(fixture: &mut AuditFixture, numbers: Range<u64>) -> BTreeSet<u64> {
    let mut answered = BTreeSet::new();
    for start in numbers.clone().step_by(CROWD as usize) {
        let crowd = start..(start + CROWD).min(numbers.end);
        fixture.write_all(&crowd.clone().map(message).collect::<Vec<_>>()).await;
        for _ in crowd.clone().filter(|number| is_answered(*number)) {
            let answer = fixture.receive().await.expect("the gateway goes on");
            let number = answer["id"].as_u64().expect("the number of a call");
            let is_refused = answer["error"].is_object() || answer["result"]["isError"] == true;
            assert!(refusal(number).is_none() || is_refused, "{answer}");
            answered.insert(number);
        }
        let waiting = crowd.filter(|number| !is_answered(*number));
        fixture.write_all(&waiting.map(give_up).collect::<Vec<_>>()).await;
    }
    answered
}

/// Makes calls, kills the gateway while it works on more, and makes the rest with another one over
/// the same state. Gives the calls whose client was told how they ended, before and after.
async fn crash(mode: &str, calls: u64) -> (Bench, [BTreeSet<u64>; 2]) {
    let setting = json!({"mode": mode, "arguments": "redacted"});
    let mut fixture = AuditFixture::open(&format!("crash-{mode}"), setting.clone()).await;
    let half = calls / 2;
    let mut before = load(&mut fixture, 0..half - CROWD).await;
    let last = (half - CROWD)..half;
    fixture.write_all(&last.map(message).collect::<Vec<_>>()).await;
    for _ in 0..CROWD / 3 {
        before.extend(fixture.receive().await.expect("it answers")["id"].as_u64());
    }
    let (bench, answers) = fixture.kill().await;
    before.extend(answers.iter().filter_map(|answer| answer["id"].as_u64()));
    let mut fixture = AuditFixture::over(bench, setting, |gateway| gateway).await;
    let after = load(&mut fixture, half..calls).await;
    (fixture.finish().await, [before, after])
}

/// The numbers of the calls that have a line of each phase, none of them twice. Every line says who
/// refused the call, if a policy did.
async fn phases(bench: &Bench) -> BTreeMap<String, BTreeSet<u64>> {
    let mut phases: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for record in records(bench).await {
        let phase = record["phase"].as_str().expect("a phase").to_owned();
        // Of a call with wrong arguments the number is a text, which is none.
        let number =
            number(&record).or_else(|| record["arguments"]["number"].as_str()?.parse().ok());
        let number = number.unwrap_or_else(|| panic!("{record}"));
        let decision = refusal(number).map(|[tool, policy, rule]| {
            assert_eq!((&record["tool"], &record["outcome"]), (&tool.into(), &REFUSED.into()));
            json!({"allowed": false, "policy": policy, "rule": rule})
        });
        assert_eq!(record.get("decision"), decision.as_ref(), "{record}");
        assert!(phases.entry(phase).or_default().insert(number), "{record} is there twice");
    }
    phases
}

async fn is_sound(bench: &Bench) {
    let run = audit(bench, &["verify"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("ended with its process") && run.out.contains("closed"), "{run:?}");
}

#[tokio::test]
async fn in_strict_mode_a_crash_loses_nothing() {
    const CALLS: u64 = 50_000;
    let (bench, [before, after]) = crash("strict", CALLS).await;
    let phases = phases(&bench).await;
    let executed = tally(&bench);
    let (begun, ended) = (&phases["begun"], &phases["ended"]);
    let distinct: BTreeSet<u64> = executed.iter().copied().collect();
    assert_eq!(distinct.len(), executed.len(), "no call was made twice");
    let unrecorded: Vec<_> = distinct.difference(begun).collect();
    assert!(unrecorded.is_empty(), "{} ran and have no record: {unrecorded:?}", unrecorded.len());
    let untold: Vec<_> = before.union(&after).filter(|it| !ended.contains(it)).collect();
    assert!(untold.is_empty(), "{} were answered and have no end: {untold:?}", untold.len());
    let open: BTreeSet<u64> = begun.difference(ended).copied().collect();
    assert!(open.iter().all(|number| *number < CALLS / 2), "only a crash leaves calls open");
    is_complete(ended, &after, &distinct, CALLS / 2..CALLS);
    are_refused(ended, &begun.union(&distinct).copied().collect(), CALLS / 2..CALLS);
    is_sound(&bench).await;
    let unknown = audit(&bench, &["search", "--json", "--outcome", "unknown*"]).await;
    assert_eq!(unknown.out.lines().count(), open.len(), "they are shown");
}

#[tokio::test]
async fn in_batched_mode_an_end_in_good_order_loses_nothing() {
    const CALLS: u64 = 10_000;
    let (bench, [_, after]) = crash("batched", CALLS).await;
    let phases = phases(&bench).await;
    assert_eq!(phases.keys().collect::<Vec<_>>(), ["ended"], "one line for each call");
    let executed: BTreeSet<u64> = tally(&bench).into_iter().collect();
    is_complete(&phases["ended"], &after, &executed, CALLS / 2..CALLS);
    are_refused(&phases["ended"], &executed, CALLS / 2..CALLS);
    is_sound(&bench).await;
}

/// No call that a policy refuses has come further than that policy, and of a gateway that ended in
/// good order the record has all of them, by policy.
fn are_refused(ended: &BTreeSet<u64>, reached: &BTreeSet<u64>, calls: Range<u64>) {
    let further: Vec<_> = reached.iter().filter(|it| refusal(**it).is_some()).collect();
    assert!(further.is_empty(), "{} were made all the same: {further:?}", further.len());
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for [_, policy, _] in ended.range(calls.clone()).filter_map(|number| refusal(*number)) {
        *counts.entry(policy).or_default() += 1;
    }
    let (made, unapproved) = (calls.end - calls.start, (calls.end - calls.start) / UNAPPROVED);
    let [approval, rules, trust] = [unapproved, made / 10 - unapproved, made / 10];
    let expected = [("approval", approval), ("rules", rules), ("trust", trust)];
    assert_eq!(counts, expected.into(), "refusals on record, by policy");
}

/// Of a gateway that ended in good order the record has the end of every call: of those that were
/// answered, and of those that were given up if they had begun.
fn is_complete(
    ended: &BTreeSet<u64>,
    answered: &BTreeSet<u64>,
    executed: &BTreeSet<u64>,
    calls: Range<u64>,
) {
    let ended: BTreeSet<u64> = ended.range(calls.clone()).copied().collect();
    let executed: BTreeSet<u64> = executed.range(calls.clone()).copied().collect();
    assert_eq!(*answered, calls.clone().filter(|number| is_answered(*number)).collect());
    let missing: Vec<_> = answered.union(&executed).filter(|it| !ended.contains(it)).collect();
    assert!(missing.is_empty(), "{} have no end: {missing:?}", missing.len());
    let given_up = executed.iter().filter(|number| !is_answered(**number)).count() as u64;
    let most = (calls.end - calls.start) / GIVEN_UP;
    assert!(given_up > most / 2, "{given_up} of {most} had begun when they were given up");
}
