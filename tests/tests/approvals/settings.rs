//! What the configuration says of trust, while the gateway runs and when it is wrong.

use gantry_tests::test_server::soon;
use serde_json::json;

use crate::fixture::{ApprovalFixture, refusal, wipe};

#[tokio::test]
async fn a_change_is_in_force_at_once_and_a_mistake_changes_nothing() {
    let fixture = ApprovalFixture::open("reload", json!({"approvals": {"wait": 100}})).await;
    let until = async |expected: &str| {
        let changed = async {
            loop {
                let refused = refusal(&wipe("a").ask(fixture.address).await);
                if if expected.is_empty() { refused.is_empty() } else { refused.contains(expected) }
                {
                    return;
                }
            }
        };
        soon(expected, changed).await;
    };
    until("nobody has approved it yet").await;
    fixture.configure(&json!({"trust": "untrusted"}));
    until("locked down").await;
    fixture.configure(&json!({"trust": "trusted!"}));
    let told = async {
        while !fixture.log().contains("the previous one stays in force") {
            tokio::task::yield_now().await;
        }
    };
    soon("the complaint", told).await;
    until("locked down").await;
    fixture.configure(&json!({"trust": "trusted"}));
    until("").await;
    fixture
        .configure(&json!({"trust": "trusted", "approve": ["file.*"], "approvals": {"wait": 100}}));
    until("wants every call of it to be approved").await;
}

#[tokio::test]
async fn mistakes_are_told_with_their_place() {
    let fixture = ApprovalFixture::open("wrong", json!({})).await;
    let cases = [
        (json!({"trust": "full"}), "`trust` has the wrong form"),
        (json!({"trus": "trusted"}), "write `trust`"),
        (json!({"approve": "all"}), "`approve` has the wrong form"),
        (json!({"approvals": {"pending": 0}}), "`pending` has the wrong form"),
        (json!({"approvals": {"webhook": "ftp://x"}}), "`webhook` has the wrong form"),
        (json!({"approvals": {"waits": 1}}), "write `wait`"),
        (json!({"approvals": {"elicitation": "all"}}), "`elicitation` has the wrong form"),
        (json!({"approvals": {"approvers": "ops"}}), "`approvers` has the wrong form"),
        (json!({"approvals": {"selfApproval": 1}}), "`selfApproval` has the wrong form"),
        (json!({"approvals": {"repeatWithin": -1}}), "`repeatWithin` has the wrong form"),
        (
            json!({"rules": [{"effect": "deny", "approvers": ["ops"]}]}),
            "`approvers` has the wrong form",
        ),
        (json!([]), "`policy` has the wrong form"),
    ];
    for (policy, expected) in cases {
        fixture.configure(&policy);
        let (code, said) = fixture.gantry(&["config", "check"]).await;
        assert!(
            code == 3 && said.contains(expected) && said.contains("gantry.json:1"),
            "{policy}: {said}"
        );
    }
}
