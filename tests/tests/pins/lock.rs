//! The lock file: pins outlive the gateway, are reviewed beside the configuration, and are worked on
//! when no gateway runs.

use std::fs;
use std::path::{Path, PathBuf};

use gantry_tests::processes;
use gantry_tests::temp_folder::Bench;
use serde_json::{Value, json};

use crate::{Stand, describe, servers, tools};

/// The file in the state directory, which is named after the configuration.
fn kept(folder: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder.join("gantry/pins")).ok()?.flatten().map(|it| it.path());
    files.find(|file| file.extension().is_some_and(|it| it == "lock"))
}

#[tokio::test]
async fn what_changed_while_nothing_ran_is_held_back() {
    let mut stand = Stand::open("night", json!("first-sight"), "Says a word.").await;
    stand.until_listed(&["look", "say"]).await;
    describe(&stand.words, "Says a work.");
    stand.fixture = stand.fixture.reopen(servers(&stand.words, &[])).await;
    stand.until_known().await;
    stand.until_listed(&["look"]).await;
    assert_eq!(stand.tools(&["pin", "words/say"]).await.code, Some(0));
    stand.fixture = stand.fixture.reopen(servers(&stand.words, &[])).await;
    stand.until_known().await;
    stand.until_listed(&["look", "say"]).await;
    stand.fixture.close().await;
}

#[tokio::test]
async fn a_lock_file_beside_the_configuration_counts() {
    let stand = Stand::open("beside", json!("locked"), "Says a word.").await;
    stand.until_listed(&[]).await;
    let refused = stand.fixture.call("words_say", json!({})).await.expect_err("it is held back");
    assert!(refused.contains("it is not in the lock file"), "{refused}");
    let accepted = stand.tools(&["pin", "words_look", "words_say"]).await;
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    stand.until_listed(&["look", "say"]).await;

    let beside = stand.fixture.bench.folder.join("gantry.lock");
    let moved = stand.tools(&["pin", "--lock"]).await;
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let text = fs::read_to_string(&beside).expect("the lock file");
    let lock: Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<&str> = lock["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["look", "say"]);
    assert!(text.contains("        \"description\": \"Says a word.\",\n"), "{text}");

    // A person removes an entry by hand.
    let mut shorter = lock.clone();
    shorter["pins"].as_array_mut().expect("pins").remove(1);
    fs::write(&beside, shorter.to_string()).expect("a file");
    stand.until_listed(&["look"]).await;
    // A broken file changes nothing, and is said.
    fs::write(&beside, text.replace("Says a word", "Says all")).expect("a file");
    processes::until("a word about it", || stand.fixture.log().contains("is invalid")).await;
    assert!(
        stand.fixture.log().contains("the digest of `words/say` is not that of its definition")
    );
    assert_eq!(stand.fixture.tools("words").await, ["look"]);
    fs::write(&beside, &text).expect("a file");
    stand.until_listed(&["look", "say"]).await;
    stand.fixture.close().await;
}

#[tokio::test]
async fn the_command_line_works_alone() {
    let (bench, words) = (Bench::new("pins-alone"), Bench::new("words-alone"));
    describe(&words, "Says a word.");
    // Nobody listens there.
    let config =
        json!({"listen": "127.0.0.1:1", "pins": "hold", "mcpServers": servers(&words, &[])});
    fs::write(bench.folder.join("gantry.json"), config.to_string()).expect("a file");
    let listed = tools(&bench, &["list"]).await;
    assert!(listed.out.contains("words_say") && kept(&bench.folder).is_some(), "{listed:?}");
    assert_eq!(tools(&bench, &["pin", "--check"]).await.code, Some(0));

    describe(&words, "Says a work.");
    let listed = tools(&bench, &["list"]).await;
    assert!(!listed.out.contains("words_say"), "{listed:?}");
    let told = "server `words`: 2 definitions are held back: `words_say` (description), `words_ask` \
                (description); `gantry tools pin --diff words` shows how, `gantry tools pin words` \
                accepts";
    assert!(listed.err.contains(told), "{listed:?}");
    let called = tools(&bench, &["call", "words_say"]).await;
    assert!(
        called.code == Some(5) && called.err.contains("has changed since it was pinned"),
        "{called:?}"
    );
    let checked = tools(&bench, &["pin", "--check", "--json"]).await;
    assert_eq!(checked.code, Some(5), "{checked:?}");
    let report: Value = serde_json::from_str(&checked.out).expect("JSON");
    assert_eq!(report["held"][1]["changes"][0]["class"], "patch", "{report}");

    assert_eq!(tools(&bench, &["pin", "words_say"]).await.code, Some(0));
    assert_eq!(tools(&bench, &["pin", "nothing"]).await.code, Some(4));
    let called = tools(&bench, &["call", "words_say"]).await;
    assert_eq!((called.code, called.out.as_str()), (Some(0), "say done\n"), "{called:?}");
    assert_eq!(tools(&bench, &["unpin", "words_ask"]).await.code, Some(0));
    assert_eq!(tools(&bench, &["pin", "--check"]).await.code, Some(0), "it was seen anew");
    fs::write(kept(&bench.folder).expect("the lock file"), "{").expect("a file");
    let broken = tools(&bench, &["list"]).await;
    assert!(broken.code == Some(3) && broken.err.contains("is invalid"), "{broken:?}");
}
