//! Secrets in the keychain of a session, with a real keyring on a bus of its own: what is kept
//! there, what a server gets of it, and what is told when it is locked or not there.

use std::process::Stdio;

use gantry_tests::keyring::Session;
use gantry_tests::temp_folder::{Bench, command, finish, program};
use gantry_tests::upstream_fixture::{UpstreamFixture, scripted};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

const TEXT: &str = "hush-hush-0123";

/// The commands as someone in a session gives them, with the state of a gateway.
struct KeychainFixture<'a> {
    state: &'a Bench,
    session: Vec<(String, String)>,
}

impl KeychainFixture<'_> {
    /// Runs a command to its end: its exit code, and all that it said.
    async fn run(&self, words: &[&str], input: &str) -> (Option<i32>, String) {
        let mut child = command(program());
        child.args(words).current_dir(&self.state.folder).envs(self.session.clone());
        child.env("XDG_STATE_HOME", &self.state.folder).env("XDG_CONFIG_HOME", &self.state.folder);
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("its input");
        // A command that asks for nothing may be gone already.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = child.wait_with_output().await.expect("it ends");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// A command that must succeed.
    async fn done(&self, words: &[&str], input: &str) -> String {
        let (code, said) = self.run(words, input).await;
        assert_eq!(code, Some(0), "{words:?}: {said}");
        said
    }

    /// What the keyring itself has under a name.
    async fn kept(&self, name: &str) -> String {
        let mut tool = command("secret-tool");
        tool.args(["lookup", "service", "gantry", "account", name]).envs(self.session.clone());
        finish(&mut tool).await
    }
}

/// The scripted server fails with its secret in the text.
#[tokio::test]
async fn a_keyring_keeps_what_servers_need() {
    let session = Session::with_keyring("kept").await;
    let entry = scripted(&["tells"], json!({"env": {"SCRIPTED_SECRET": "${keychain:search}"}}));
    let config = json!({"pins": "off", "mcpServers": {"odd": entry}});
    let fixture = UpstreamFixture::with_variables("keyring", config, session.variables()).await;
    let keychain = KeychainFixture { state: &fixture.bench, session: session.variables() };
    let missing = fixture.until("odd", "told of", |status| status["reason"].is_string()).await;
    assert!(missing.to_string().contains("`gantry secret set search` keeps one"), "{missing}");

    let set = keychain.done(&["secret", "set", "search"], "first-text-0123\n").await;
    assert!(set.contains("stored `search` in the keychain"), "{set}");
    fixture.until_listed("odd").await;
    // Another text under the same name takes the place of the first, here and in the gateway.
    keychain.done(&["secret", "set", "search"], TEXT).await;
    assert_eq!(keychain.kept("search").await, TEXT);
    let noted = std::fs::read(fixture.bench.folder.join("gantry/secrets.json")).expect("a file");
    let noted: Value = serde_json::from_slice(&noted).expect("JSON");
    assert_eq!(noted["secrets"], json!({"search": null}), "the file has the name only");
    let rows = keychain.done(&["secret", "list", "--json"], "").await;
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    assert_eq!(rows[0]["place"], "keychain", "{rows}");

    let failed = fixture.call("odd_odd", json!({})).await.expect_err("it tells");
    assert!(failed.contains("the key … is not valid"), "{failed}");
    for shown in [fixture.log(), fixture.status("odd").await.to_string(), failed] {
        assert!(!shown.contains(TEXT) && !shown.contains("first-text-0123"), "{shown}");
    }
    keychain.done(&["secret", "remove", "search"], "").await;
    assert_eq!(keychain.run(&["secret", "remove", "search"], "").await.0, Some(4));
    fixture.until("odd", "told of", |status| status["reason"].is_string()).await;
    fixture.close().await;
}

/// A keyring that nobody opens is as silent about what it has as about what it has not.
#[tokio::test]
async fn a_locked_keyring_is_told_from_an_empty_one() {
    let mut session = Session::with_keyring("locked").await;
    let state = Bench::new("keyring-locked");
    let keychain = KeychainFixture { state: &state, session: session.variables() };
    keychain.done(&["secret", "set", "search"], TEXT).await;
    session.lock().await;

    let text = r#"{"mcpServers": {"s": {"command": "${keychain:search}"}, "t": {"command": "${keychain:other}"}}}"#;
    state.write("gantry.json", text);
    let (_, said) = keychain.run(&["config", "check"], "").await;
    assert!(said.contains("is locked and has the secret `search`; unlock it"), "{said}");
    assert!(said.contains("`gantry secret set other` keeps one"), "{said}");
    let (code, said) = keychain.run(&["secret", "remove", "search"], "").await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is locked"), "{said}");
    // What it does not take goes into the file, and is found there.
    let set = keychain.done(&["secret", "set", "search"], TEXT).await;
    assert!(set.contains("stored `search` in the file"), "{set}");
    let (_, said) = keychain.run(&["config", "check"], "").await;
    assert!(!said.contains("is locked"), "{said}");
}

#[tokio::test]
async fn without_a_keyring_the_file_serves() {
    let session = Session::open("bare").await;
    let state = Bench::new("keyring-bare");
    state.write("gantry.json", r#"{"mcpServers": {"s": {"command": "${keychain:search}"}}}"#);
    let keychain = KeychainFixture { state: &state, session: session.variables() };
    let (_, said) = keychain.run(&["config", "check"], "").await;
    assert!(said.contains("`gantry secret set search` keeps one"), "{said}");
    let set = keychain.done(&["secret", "set", "search"], TEXT).await;
    assert!(set.contains("stored `search` in the file"), "{set}");
    keychain.done(&["secret", "remove", "search"], "").await;
}

/// What a keyring has is out of reach from anywhere but its session.
#[tokio::test]
async fn outside_the_session_what_is_missing_is_the_session() {
    let session = Session::with_keyring("outside").await;
    let state = Bench::new("keyring-outside");
    state.write("gantry.json", r#"{"mcpServers": {"s": {"command": "${keychain:search}"}}}"#);
    let inside = KeychainFixture { state: &state, session: session.variables() };
    inside.done(&["secret", "set", "search"], TEXT).await;
    let outside = KeychainFixture { state: &state, session: Vec::new() };
    for words in [&["config", "check"][..], &["secret", "remove", "search"]] {
        let (code, said) = outside.run(words, "").await;
        assert_ne!(code, Some(0), "{said}");
        assert!(said.contains("needs `secret-tool` and a session"), "{said}");
    }
    assert_eq!(inside.kept("search").await, TEXT);
}
