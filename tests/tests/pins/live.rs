//! While the gateway runs: what changes vanishes from every list, is refused on both eras, and is
//! back as soon as a person accepts it.

use gantry_tests::request::{NEWEST, bodiless, initialize, list, message, request};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{RawClient, said};
use serde_json::{Value, json};

use crate::{Stand, servers};

const LEGACY: &str = "2025-06-18";

#[tokio::test]
async fn one_word_holds_a_tool_back_until_it_is_accepted() {
    let mut stand = Stand::open("word", json!("first-sight"), "Says a word.").await;
    stand.until_listed(&["look", "say"]).await;
    let mut visitors = [
        RawClient::posting(&stand.fixture, LEGACY).await,
        RawClient::posting(&stand.fixture, NEWEST).await,
    ];
    for raw_client in &mut visitors {
        let said = raw_client.call(&mut stand.fixture, "words_say").await;
        assert_eq!(said.as_deref(), Ok("say done"));
    }

    stand.change("Says a work.").await;
    stand.until_listed(&["look"]).await;
    let refusal = "`words_say` of server `words` has changed since it was pinned (description); \
                   `gantry tools pin --diff words_say` shows how, `gantry tools pin words_say` accepts it";
    for raw_client in &mut visitors {
        let refused = raw_client.call(&mut stand.fixture, "words_say").await;
        assert_eq!(refused, Err(refusal.to_owned()));
        let listed = raw_client.ask(&mut stand.fixture, "tools/list", json!({})).await;
        assert!(!listed.contains("Says a work") && listed.contains("words_look"), "{listed}");
    }
    // The face that shows the server alone has other names, and the same pins.
    let alone = list().to("/mcp/words").ask(stand.fixture.address).await;
    let names: Vec<&str> = alone["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["look"]);
    let prompt =
        request("prompts/get", json!({"name": "words_ask"})).ask(stand.fixture.address).await;
    assert!(
        said(&prompt).is_err_and(|it| it.starts_with("`words_ask` of server `words` has changed")),
        "{prompt}"
    );

    let checked = stand.tools(&["pin", "--check"]).await;
    assert_eq!(checked.code, Some(5), "{checked:?}");
    let diff = stand.tools(&["pin", "--diff", "words_say"]).await;
    let expected = "\
tool words/say (changed: description, patch)
  patch  the description of the tool changed
  description
    - Says a word.
    + Says a work.
";
    assert_eq!((diff.code, diff.out.as_str()), (Some(0), expected), "{diff:?}");

    let mut told = hearing(&stand).await;
    let accepted = stand.tools(&["pin", "words_say"]).await;
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    assert!(accepted.err.contains("accepted: words/say"), "{accepted:?}");
    for raw_client in &mut visitors {
        let said = raw_client.call(&mut stand.fixture, "words_say").await;
        assert_eq!(said.as_deref(), Ok("say done"), "it is back at once");
    }
    let heard = async {
        loop {
            let event = told.event().await.expect("an event");
            if event.data.is_some_and(|it| it.contains("notifications/tools/list_changed")) {
                return;
            }
        }
    };
    soon("a word to clients", heard).await;
    assert_eq!(stand.fixture.tools("words").await, ["look", "say"]);
    let checked = stand.tools(&["pin", "--check"]).await;
    assert_eq!(checked.code, Some(5), "the prompt is still held back: {checked:?}");
    assert_eq!(stand.tools(&["pin", "--all"]).await.code, Some(0));
    assert_eq!(stand.tools(&["pin", "--check"]).await.code, Some(0));
    stand.fixture.close().await;
}

/// What a client with a session hears.
async fn hearing(stand: &Stand) -> gantry_tests::http::Answer {
    let greeting = initialize(LEGACY).send(stand.fixture.address).await;
    let session = greeting.header("mcp-session-id").expect("a session").to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let of =
        |it: gantry_tests::request::Request| it.of(&session).header("MCP-Protocol-Version", LEGACY);
    of(message(ready)).send(stand.fixture.address).await;
    of(bodiless("GET")).send(stand.fixture.address).await
}

#[tokio::test]
async fn another_program_of_that_name_has_pins_of_its_own() {
    let stand = Stand::open("other", json!("first-sight"), "Says a word.").await;
    stand.until_listed(&["look", "say"]).await;
    stand.fixture.configure(servers(&stand.words, &["another"]));
    let told = "server `words` has another program, arguments or address than before";
    gantry_tests::processes::until(told, || stand.fixture.log().contains(told)).await;
    stand.until_listed(&["look", "say"]).await;
    stand.fixture.call("words_say", json!({})).await.expect("it is not held back");
    stand.fixture.close().await;
}

#[tokio::test]
async fn another_program_of_that_name_is_held_back_as_a_whole_where_pins_are_locked() {
    let stand = Stand::open("locked-other", json!("locked"), "Says a word.").await;
    stand.fixture.until_state("words", "ready").await;
    accept_all(&stand).await;
    stand.until_listed(&["look", "say"]).await;
    stand.fixture.configure(servers(&stand.words, &["another"]));
    stand.until_listed(&[]).await;
    let held = || async {
        let told = stand.fixture.admin("GET", "/api/servers").await;
        told["held"].as_array().map_or(0, Vec::len)
    };
    while held().await != 3 {}
    let refused = stand.fixture.call("words_say", json!({})).await.expect_err("it is held back");
    assert!(refused.contains("it is not in the lock file"), "{refused}");
    let accepted = stand.tools(&["pin", "--server", "words"]).await;
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    stand.until_listed(&["look", "say"]).await;
    // The first one is still pinned.
    stand.fixture.configure(servers(&stand.words, &[]));
    stand.fixture.until_state("words", "ready").await;
    stand.until_listed(&["look", "say"]).await;
    assert_eq!(held().await, 0);
    stand.fixture.close().await;
}

/// Accepts all that is held back, once it is all seen.
async fn accept_all(stand: &Stand) {
    let held = async || {
        let told = stand.fixture.admin("GET", "/api/servers").await;
        told["held"].as_array().map_or(0, Vec::len)
    };
    while held().await != 3 {}
    let accepted = stand.tools(&["pin", "--all"]).await;
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
}

#[tokio::test]
async fn hidden_characters_are_held_back_at_first_sight() {
    let stand = Stand::open("hidden", json!("first-sight"), "Says\u{200b} a word.").await;
    stand.until_listed(&["look"]).await;
    let refused = stand.fixture.call("words_say", json!({})).await.expect_err("it is held back");
    assert!(refused.contains("suspicious (description: a zero width space)"), "{refused}");
    let diff = stand.tools(&["pin", "--diff"]).await.out;
    assert!(diff.contains("Says⟨U+200B⟩ a word.") && !diff.contains('\u{200b}'), "{diff}");
    assert!(diff.contains("suspicious description a zero width space: "), "{diff}");
    assert_eq!(stand.tools(&["pin", "--all"]).await.code, Some(0));
    let pinned = stand.tools(&["pin"]).await.out;
    assert!(pinned.contains("suspicious: description a zero width space"), "{pinned}");
    stand.until_listed(&["look", "say"]).await;
    let report: Value = stand.fixture.admin("GET", "/api/pins").await;
    let flagged = report["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter(|pin| pin["suspicions"].as_array().is_some_and(|it| !it.is_empty()))
        .count();
    assert_eq!(flagged, 2, "what was accepted is still shown with its flag: {report}");
    stand.fixture.close().await;
}
