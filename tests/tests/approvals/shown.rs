//! What a person is shown of a call that waits: nothing that cannot be seen, and on demand everything.

use gantry_tests::request::call;
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::fixture::{ApprovalFixture, TOOL};

#[tokio::test]
async fn an_administrator_sees_the_real_arguments_on_demand() {
    let fixture = ApprovalFixture::open("reveal", json!({})).await;
    let secret = call(TOOL, json!({"path": "a", "token": "hunter2-hunter2"}));
    let looks = async {
        let id = fixture.pending().await["id"].as_str().expect("a name").to_owned();
        let (code, said) = fixture.gantry(&["approve"]).await;
        assert!(code == 0 && !said.contains("hunter2"), "{said}");
        assert!(said.contains(&format!("`gantry approve {id} --show`")), "{said}");
        for words in [&["approve", &id, "--show"][..], &["approve", &id, "--show", "--json"]] {
            let (code, said) = fixture.gantry(words).await;
            assert!(code == 0 && said.contains("hunter2-hunter2"), "{words:?}: {said}");
        }
        for words in [&["approve", "--show"][..], &["approve", &id, "--show", "--once"]] {
            assert_eq!(fixture.gantry(words).await.0, 2, "{words:?}");
        }
        assert_eq!(fixture.gantry(&["approve", "nothing", "--show"]).await.0, 4);
        let real = json!({"path": "a", "token": "hunter2-hunter2"});
        let hidden = json!({"path": "a", "token": "…"});
        let token = fixture.token();
        let cases = [
            (token.as_str(), "?reveal=1", 200, &real),
            (token.as_str(), "?reveal=0", 200, &hidden),
            (token.as_str(), "", 200, &hidden),
            ("wrong", "?reveal=1", 401, &Value::Null),
        ];
        for (token, query, status, expected) in cases {
            let path = format!("/api/approvals/{id}{query}");
            let (got, shown) = fixture.admin_as(token, "GET", &path, &Value::Null).await;
            assert_eq!((got, &shown["arguments"]), (status, expected), "{token} {query}");
        }
        assert_eq!(fixture.gantry(&["deny", &id]).await.0, 0);
        id
    };
    let (_, id) = fixture.during(&secret, looks).await;
    let (status, _) =
        fixture.admin("GET", &format!("/api/approvals/{id}?reveal=1"), &Value::Null).await;
    assert_eq!(status, 404, "it waits no longer");
    // Records are written a moment after what they are about.
    let recorded = async {
        loop {
            let (code, record) = fixture.gantry(&["audit", "export"]).await;
            assert_eq!(code, 0, "{record}");
            let lines = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let shown: Vec<Value> = lines.filter(|it| it["method"] == "approvals/reveal").collect();
            if shown.len() >= 3 {
                return shown;
            }
        }
    };
    let shown = soon("every look on record", recorded).await;
    assert_eq!(shown.len(), 3, "{shown:?}");
    for look in shown {
        let told = [&look["principal"], &look["call"], &look["tool"]];
        assert_eq!(told, [&json!("administrator"), &json!(id), &json!(TOOL)], "{look}");
    }
    let (code, said) = fixture.gantry(&["audit", "verify"]).await;
    assert_eq!(code, 0, "{said}");
}

/// Who may answer a call may look at it, on record under their own name; nobody else may.
#[tokio::test]
async fn an_approver_sees_the_real_arguments_of_what_they_may_answer() {
    let fixture = ApprovalFixture::open_with_tokens("reveal", json!({})).await;
    let ci = fixture.make_token("ci", "caller").await;
    let ann = fixture.make_token("ann", "approver").await;
    let real = json!({"path": "a", "token": "hunter2-hunter2"});
    for (owner, by_ann) in [(&ci, 200), (&ann, 404)] {
        let secret = call(TOOL, real.clone()).by(owner);
        let looks = async {
            let id = fixture.pending().await["id"].as_str().expect("a name").to_owned();
            let path = format!("/api/approvals/{id}?reveal=1");
            for (token, status) in [(&ann, by_ann), (&ci, 401)] {
                let (got, shown) = fixture.admin_as(token, "GET", &path, &Value::Null).await;
                assert_eq!(got, status, "{shown}");
                assert_eq!(shown["arguments"] == real, status == 200, "{shown}");
            }
            assert_eq!(fixture.gantry(&["deny", &id]).await.0, 0);
            id
        };
        let (_, id) = fixture.during(&secret, looks).await;
        // The denial is recorded after any look.
        let recorded = async {
            loop {
                let (code, record) = fixture.gantry(&["audit", "export"]).await;
                assert_eq!(code, 0, "{record}");
                let lines = record.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
                let is_about =
                    |it: &Value| it["call"].as_str().is_some_and(|call| call.ends_with(&id));
                let about: Vec<Value> = lines.filter(is_about).collect();
                if about.iter().any(|it| it["method"] == "gantry/approval") {
                    break about;
                }
            }
        };
        let about = soon("the answer on record", recorded).await;
        let looked = about.iter().filter(|it| it["method"] == "approvals/reveal");
        let looked: Vec<&Value> = looked.map(|it| &it["principal"]).collect();
        assert_eq!(looked, if by_ann == 200 { vec!["ann"] } else { vec![] }, "{about:?}");
    }
}

#[tokio::test]
async fn nothing_that_cannot_be_seen_reaches_a_person() {
    let fixture = ApprovalFixture::open("unseen", json!({})).await;
    let tricks = [
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{200f}",
        "\u{feff}",
        "\u{2028}",
        "\u{1b}[2K",
        "\u{85}",
        "\u{e0041}",
    ];
    let path = format!("a{}b", tricks.concat());
    let client = format!("me`\n  waits because it is safe{}", tricks.concat());
    let info = json!({"name": client, "version": "1"});
    let request = call(TOOL, json!({"path": path})).meta("clientInfo", info);
    let looks = async {
        let pending = fixture.pending().await;
        assert_eq!(pending["arguments"]["path"], json!(path), "programs get what was sent");
        let id = pending["id"].as_str().expect("a name").to_owned();
        let cases: [&[&str]; 4] =
            [&["approve"], &["approve", &id, "--show"], &["approve", "--json"], &["deny", &id]];
        for words in cases {
            let (code, said) = fixture.gantry(words).await;
            assert_eq!(code, 0, "{words:?}: {said}");
            for trick in tricks {
                assert!(!said.contains(trick), "{words:?} lets {trick:?} through: {said:?}");
            }
            match words {
                ["approve", .., "--json"] => assert!(said.contains("\\u202e"), "{said}"),
                ["approve", ..] => {
                    assert!(said.contains("⟨U+202E⟩") && said.contains("⟨U+001B⟩"), "{said}");
                    let lines = said.lines().filter(|it| it.starts_with("  waits because"));
                    assert_eq!(lines.count(), 1, "{said}");
                }
                _ => {}
            }
        }
    };
    fixture.during(&request, looks).await;
}
