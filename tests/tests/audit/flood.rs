//! A caller that floods the audit log: nothing that was recorded before is lost, and nothing is
//! missing without a word.

use gantry_tests::temp_folder::Bench;
use serde_json::{Value, json};

use crate::fixture::{AuditFixture, audit, configure_with, records};

/// A batch of calls of tools that do not exist, with names that JSON must escape.
fn unknown(calls: usize) -> Value {
    let name = |number: usize| format!("{number:03}{}", "\u{1}".repeat(253));
    let call = |number| json!({"id": format!("c{number}"), "name": name(number)});
    json!({"calls": (0..calls).map(call).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_flood_of_unknown_names_removes_no_record() {
    let settings = json!({"arguments": "redacted", "size": "256KiB"});
    let bench = Bench::new("audit-flood");
    configure_with(&bench, &settings, &json!({}));
    let mut fixture = AuditFixture::start(bench, |gateway| gateway).await;
    fixture.call("count", 1).await;
    let mut limited = 0;
    for _ in 0..30 {
        let answer = fixture.ask("gantry/batch", unknown(100)).await;
        limited += answer.to_string().matches("ApiLimitExceeded").count();
    }
    let bench = fixture.finish().await;
    let all = records(&bench).await;
    let first = all.iter().any(|it| it["arguments"]["number"] == 1);
    assert!(first, "the first call is on record: {} lines", all.len());
    let verified = audit(&bench, &["verify"]).await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(limited > 2800, "{limited} calls were rate limited");
    let told: u64 = all.iter().filter_map(|it| it["suppressed"].as_u64()).sum();
    let unknown = all.iter().filter(|it| it["outcome"] == "ToolNotFoundError").count() as u64;
    assert_eq!(told + unknown, 3000, "every call is recorded or counted");
    assert!(unknown < 100, "{unknown} unknown names are recorded");
}
