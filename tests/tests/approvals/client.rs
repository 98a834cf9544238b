//! Clients of others, of both eras, whose users are asked, or somebody else is.

use gantry_tests::house::soon;
use gantry_tests::workshop::{cache, command, root};
use serde_json::{Value, json};

use crate::desk::Desk;

/// The clients: a folder with its library, its script, its era.
const CLIENTS: [(&str, &str, &str); 3] = [
    ("python-mcp-1", "mcp1.py", "legacy"),
    ("python-mcp-2", "mcp2.py", "legacy"),
    ("python-mcp-2", "mcp2.py", "modern"),
];

/// Plays a script of so many steps to its end: what was not as it should be.
async fn play(
    desk: &Desk,
    (folder, file, era): (&str, &str, &str),
    (script, steps): (&str, usize),
) -> String {
    let mut python = command(cache().join(folder).join("bin/python"));
    python.arg(root().join("tests/clients/python").join(file));
    python.env("PYTHONDONTWRITEBYTECODE", "1").env("GANTRY_SCRIPT", script);
    let url = format!("http://{}/mcp", desk.address);
    python.args(["--transport", "http", "--era", era, "--url", &url]);
    let output = python.output().await.expect("it runs; run `cargo xtask provision` first");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = printed.lines().filter(|line| line.starts_with("ok ")).count();
    // Connecting and closing count too.
    match output.status.success() && passed == steps + 2 {
        true => String::new(),
        false => printed + &String::from_utf8_lossy(&output.stderr) + &desk.log(),
    }
}

#[tokio::test]
async fn the_clients_user_is_asked() {
    for client in CLIENTS {
        let desk = Desk::open("asked", json!({})).await;
        let problems = play(&desk, client, ("approval", 4)).await;
        let (runs, last) = if client.2 == "modern" { (1, "denied") } else { (3, "approved") };
        assert_eq!((problems.as_str(), desk.runs()), ("", runs), "{client:?}");
        let (_, all) = desk.admin("GET", "/api/approvals", &Value::Null).await;
        let verdicts: Vec<_> =
            all["past"].as_array().expect("a list").iter().map(|it| &it["verdict"]).collect();
        let expected = [last, "denied", "denied", "approved"];
        assert_eq!(verdicts, expected, "{client:?}");
    }
}

#[tokio::test]
async fn the_clients_user_grants_a_tool_for_good() {
    for client in CLIENTS {
        let desk = Desk::open("lasting", json!({})).await;
        let problems = play(&desk, client, ("lasting", 2)).await;
        assert_eq!((problems.as_str(), desk.runs()), ("", 2), "{client:?}");
        let (_, all) = desk.admin("GET", "/api/approvals", &Value::Null).await;
        let grant = &all["grants"][0];
        assert!(grant["expires"].is_null() && grant["session"].is_null(), "{client:?}: {all}");
    }
}

#[tokio::test]
async fn somebody_answers_at_the_command_line() {
    for client in CLIENTS {
        let desk = Desk::open("outside", json!({"approvals": {"elicitation": false}})).await;
        let answers = async {
            let first = desk.pending().await;
            let id = first["id"].as_str().expect("a name").to_owned();
            let (code, listed) = desk.gantry(&["approve"]).await;
            assert!(code == 0 && listed.contains(&id) && listed.contains("cancel"), "{listed}");
            let (code, said) = desk.gantry(&["approve", &id]).await;
            assert_eq!((code, said), (0, format!("`{id}` is approved\n")));
            let second = desk.pending().await;
            let id = second["id"].as_str().expect("a name").to_owned();
            let (code, said) = desk.gantry(&["deny", &id]).await;
            assert_eq!((code, said), (0, format!("`{id}` is denied\n")));
            let (code, said) = desk.gantry(&["approve", &id]).await;
            assert!(code == 1 && said.contains("`somebody` at a terminal denied it"), "{said}");
        };
        let (problems, ()) = soon("the client", async {
            tokio::join!(play(&desk, client, ("outside", 2)), answers)
        })
        .await;
        assert_eq!((problems.as_str(), desk.runs()), ("", 1), "{client:?}");
    }
}
