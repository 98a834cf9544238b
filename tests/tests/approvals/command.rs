//! The command line: calls that need an approval, and decisions with and without a gateway.

use serde_json::json;

use crate::fixture::{ApprovalFixture, TOOL, refusal, wipe};

#[tokio::test]
async fn a_call_at_no_terminal_needs_a_word() {
    let fixture = ApprovalFixture::open("call", json!({"approvals": {"wait": 200}})).await;
    let (code, said) = fixture.gantry(&["call", TOOL, "path=a"]).await;
    assert!(code == 5 && said.contains("--yes") && said.contains("trust grant"), "{said}");
    assert_eq!(fixture.runs(), 0);
    let (code, said) = fixture.gantry(&["call", TOOL, "path=a", "--yes"]).await;
    assert_eq!((code, fixture.runs()), (0, 1), "{said}");
    let url = format!("http://{}/mcp", fixture.address);
    let (code, said) = fixture.gantry(&["call", TOOL, "path=a", "--url", &url]).await;
    assert!(code == 5 && said.contains("--yes"), "{said}");
    let (code, said) = fixture.gantry(&["call", TOOL, "path=a", "--url", &url, "--yes"]).await;
    assert_eq!((code, fixture.runs()), (0, 2), "{said}");
}

#[tokio::test]
async fn decisions_are_in_force_at_once() {
    let fixture = ApprovalFixture::open("trust", json!({"approvals": {"wait": 200}})).await;
    let steps: [(&[&str], &str); 7] = [
        (&["trust", "show"], "nobody has approved it yet"),
        (&["trust", "grant", TOOL], ""),
        (&["trust", "level", "untrusted"], "locked down"),
        (&["trust", "revoke", "gateway"], ""),
        (&["trust", "level", "untrusted", TOOL], "it is untrusted"),
        (&["trust", "revoke", TOOL], "nobody has approved it yet"),
        (&["trust", "level", "trusted"], ""),
    ];
    for (words, expected) in steps {
        let (code, said) = fixture.gantry(words).await;
        assert_eq!(code, 0, "{words:?}: {said}");
        let refused = refusal(&wipe("a").ask(fixture.address).await);
        let fits =
            if expected.is_empty() { refused.is_empty() } else { refused.contains(expected) };
        assert!(fits, "{words:?}: {refused}");
    }
    let (code, said) = fixture.gantry(&["trust", "grant", "nothing"]).await;
    assert_eq!(code, 4, "{said}");
    let (code, said) = fixture.gantry(&["trust", "revoke", "nothing"]).await;
    assert_eq!(code, 4, "{said}");
    let (code, said) = fixture.gantry(&["trust", "--json"]).await;
    assert!(code == 0 && said.contains(r#""level": "trusted""#), "{said}");
}

#[tokio::test]
async fn an_approval_reaches_as_far_as_it_says() {
    let fixture = ApprovalFixture::open("scope", json!({})).await;
    let answers = async {
        let id = fixture.pending().await["id"].as_str().expect("a name").to_owned();
        let wrong: [&[&str]; 3] = [
            &["approve", &id, "--for", "ever"],
            &["approve", &id, "--matching", "[]"],
            &["approve", "--session"],
        ];
        for words in wrong {
            assert_eq!(fixture.gantry(words).await.0, 2, "{words:?}");
        }
        let (code, said) = fixture.gantry(&["approve", &id, "--session"]).await;
        assert!(code == 1 && said.contains("no session"), "{said}");
        let said =
            fixture.gantry(&["approve", &id, "--for", "1h", "--matching", r#"{"path":"a"}"#]).await;
        assert_eq!(said.0, 0, "{}", said.1);
        id
    };
    let (_, id) = fixture.during(&wipe("a"), answers).await;
    assert_eq!(refusal(&wipe("a").ask(fixture.address).await), "");
    let (code, said) = fixture.gantry(&["trust", "revoke", &format!("grant:{id}")]).await;
    assert_eq!((code, fixture.runs()), (0, 2), "{said}");
}
