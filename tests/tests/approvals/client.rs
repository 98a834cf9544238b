//! Clients of others, of both eras, whose users are asked, or somebody else is.

use gantry_tests::temp_folder::{cache, command, root};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::fixture::ApprovalFixture;

/// The clients: a folder with its library, its script, its era.
const CLIENTS: [(&str, &str, &str); 3] = [
    ("python-mcp-1", "mcp1.py", "legacy"),
    ("python-mcp-2", "mcp2.py", "legacy"),
    ("python-mcp-2", "mcp2.py", "modern"),
];

/// Plays a script of so many steps to its end: what was not as it should be.
async fn play(
    fixture: &ApprovalFixture,
    (folder, file, era): (&str, &str, &str),
    (script, steps): (&str, usize),
) -> String {
    let mut python = command(cache().join(folder).join("bin/python"));
    python.arg(root().join("tests/clients/python").join(file));
    python.env("PYTHONDONTWRITEBYTECODE", "1").env("GANTRY_SCRIPT", script);
    let url = format!("http://{}/mcp", fixture.address);
    python.args(["--transport", "http", "--era", era, "--url", &url]);
    let output = python.output().await.expect("it runs; run `cargo xtask provision` first");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = printed.lines().filter(|line| line.starts_with("ok ")).count();
    // Connecting and closing count too.
    match output.status.success() && passed == steps + 2 {
        true => String::new(),
        false => printed + &String::from_utf8_lossy(&output.stderr) + &fixture.log(),
    }
}

#[tokio::test]
async fn the_clients_user_is_asked() {
    for client in CLIENTS {
        let fixture = ApprovalFixture::open("asked", json!({})).await;
        let problems = play(&fixture, client, ("approval", 4)).await;
        let (runs, last) = if client.2 == "modern" { (1, "denied") } else { (3, "approved") };
        assert_eq!((problems.as_str(), fixture.runs()), ("", runs), "{client:?}");
        let (_, all) = fixture.admin("GET", "/api/approvals", &Value::Null).await;
        let verdicts: Vec<_> =
            all["past"].as_array().expect("a list").iter().map(|it| &it["verdict"]).collect();
        let expected = [last, "denied", "denied", "approved"];
        assert_eq!(verdicts, expected, "{client:?}");
    }
}

#[tokio::test]
async fn the_clients_user_grants_a_tool_for_good() {
    for client in CLIENTS {
        let fixture = ApprovalFixture::open("lasting", json!({})).await;
        let problems = play(&fixture, client, ("lasting", 2)).await;
        assert_eq!((problems.as_str(), fixture.runs()), ("", 2), "{client:?}");
        let (_, all) = fixture.admin("GET", "/api/approvals", &Value::Null).await;
        let grant = &all["grants"][0];
        assert!(grant["expires"].is_null() && grant["session"].is_null(), "{client:?}: {all}");
    }
}

#[tokio::test]
async fn somebody_answers_at_the_command_line() {
    for client in CLIENTS {
        let fixture =
            ApprovalFixture::open("outside", json!({"approvals": {"elicitation": false}})).await;
        let answers = async {
            let first = fixture.pending().await;
            let id = first["id"].as_str().expect("a name").to_owned();
            let (code, listed) = fixture.gantry(&["approve"]).await;
            assert!(code == 0 && listed.contains(&id) && listed.contains("cancel"), "{listed}");
            let (code, said) = fixture.gantry(&["approve", &id]).await;
            assert_eq!((code, said), (0, format!("`{id}` is approved\n")));
            let second = fixture.pending().await;
            let id = second["id"].as_str().expect("a name").to_owned();
            let (code, said) = fixture.gantry(&["deny", &id]).await;
            assert_eq!((code, said), (0, format!("`{id}` is denied\n")));
            let (code, said) = fixture.gantry(&["approve", &id]).await;
            assert!(code == 1 && said.contains("`somebody` at a terminal denied it"), "{said}");
        };
        let (problems, ()) = soon("the client", async {
            tokio::join!(play(&fixture, client, ("outside", 2)), answers)
        })
        .await;
        assert_eq!((problems.as_str(), fixture.runs()), ("", 1), "{client:?}");
    }
}
