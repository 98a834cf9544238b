//! Session ids, and what is kept of sessions in memory.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{Caller, Gateway, Identity, Scope};
use gantry_protocol::{ClientCapabilities, Id, RawJson, Revision};

use super::super::session::Session;
use super::{SessionLookup, mint};
use crate::doorman::Visitor;
use crate::lobby::Lobby;
use crate::seal::Purpose;
use crate::settings::Settings;

fn lobby(settings: Settings) -> Arc<Lobby> {
    let gateway = Gateway::builder(Identity::new("sessions", "1")).build();
    Lobby::new(gateway, Settings { key: Some([7; 32]), ..settings })
}

fn open(lobby: &Lobby, principal: &str) -> String {
    let capabilities = RawJson::from_static(r#"{"roots":{},"vendor":[1.50]}"#);
    let caller = Caller {
        capabilities: ClientCapabilities::read(capabilities),
        client_info: Some(RawJson::from_static(r#"{"name":"test"}"#)),
        ..Caller::new(principal)
    };
    mint(lobby, &Session::new(Revision::parse("2025-06-18").unwrap(), caller)).unwrap()
}

/// What an id leads to, in a word.
fn find(lobby: &Lobby, principal: &str, id: &str) -> &'static str {
    match lobby.sessions.find(lobby, &Visitor::new(principal), id) {
        SessionLookup::Found(_) => "found",
        SessionLookup::Unknown => "unknown",
        SessionLookup::Full => "full",
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_carries_what_was_agreed() {
    let id = open(&lobby(Settings::default()), "ada");
    let restarted = lobby(Settings::default());
    let SessionLookup::Found(found) =
        restarted.sessions.find(&restarted, &Visitor::new("ada"), &id)
    else {
        panic!("the session goes on")
    };
    let session = &found.session;
    assert_eq!(session.revision.as_str(), "2025-06-18");
    assert_eq!(session.caller.capabilities.raw.as_str(), r#"{"roots":{},"vendor":[1.50]}"#);
    assert_eq!(session.caller.client_info.as_ref().unwrap().as_str(), r#"{"name":"test"}"#);
}

#[tokio::test(start_paused = true)]
async fn ids_of_others_and_forged_ones_are_unknown() {
    let lobby = lobby(Settings::default());
    let id = open(&lobby, "ada");
    let state = lobby.seal.seal(Purpose::RequestState, b"{}").unwrap();
    let nonsense = lobby.seal.seal(Purpose::Session, b"{}").unwrap();
    let mut tampered = id.clone();
    tampered.replace_range(50..51, if &id[50..51] == "A" { "B" } else { "A" });
    let forged = [
        "",
        "x",
        "é",
        &"é".repeat(40),
        &id[..32],
        &id[..id.len() - 1],
        &tampered,
        &state,
        &nonsense,
    ];
    for forged in forged {
        assert_eq!(find(&lobby, "ada", forged), "unknown", "{forged}");
    }
    assert_eq!(find(&lobby, "eve", &id), "unknown", "sealed for another");
    assert_eq!(find(&lobby, "ada", &id), "found");
    assert_eq!(find(&lobby, "eve", &id), "unknown", "and in memory for another");
    assert_eq!(lobby.sessions.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_make_room_and_go_on_when_used() {
    let lobby = lobby(Settings { sessions: 10, ..Settings::default() });
    let ids: Vec<_> = (0..50).map(|_| open(&lobby, "ada")).collect();
    for id in &ids {
        assert_eq!(find(&lobby, "ada", id), "found");
        assert!(lobby.sessions.count() <= 10);
    }
    assert!(ids.iter().all(|id| find(&lobby, "ada", id) == "found"), "each goes on");
}

#[tokio::test(start_paused = true)]
async fn busy_sessions_make_no_room() {
    let lobby = lobby(Settings { sessions: 2, ..Settings::default() });
    let ids: Vec<_> = (0..3).map(|_| open(&lobby, "ada")).collect();
    let mut calls = Vec::new();
    for id in &ids[..2] {
        let SessionLookup::Found(found) = lobby.sessions.find(&lobby, &Visitor::new("ada"), id)
        else {
            panic!("there is room")
        };
        calls.push(found.session.calls.enrol(&Id::number(1)).unwrap());
    }
    assert_eq!(find(&lobby, "ada", &ids[2]), "full");
    assert_eq!(find(&lobby, "ada", &ids[0]), "found", "those inside are not touched");
}

#[tokio::test(start_paused = true)]
async fn sessions_that_do_nothing_are_forgotten_but_not_lost() {
    let idle = Duration::from_secs(60);
    let lobby = lobby(Settings { session_idle: idle, ..Settings::default() });
    let (one, other) = (open(&lobby, "ada"), open(&lobby, "ada"));
    assert_eq!((find(&lobby, "ada", &one), find(&lobby, "ada", &other)), ("found", "found"));
    tokio::time::advance(idle / 2).await;
    find(&lobby, "ada", &other);
    tokio::time::advance(idle / 2).await;
    lobby.sweep();
    assert_eq!(lobby.sessions.count(), 1, "the one that was used stays");
    assert_eq!(find(&lobby, "ada", &one), "found", "the other comes back");
}

#[tokio::test(start_paused = true)]
async fn ended_sessions_stay_ended_within_bounds() {
    let settings = Settings { sessions: 4, ..Settings::default() };
    let lobby = lobby(settings);
    let ids: Vec<_> = (0..6).map(|_| open(&lobby, "ada")).collect();
    for id in &ids {
        find(&lobby, "ada", id);
        lobby.sessions.end(&lobby.settings, id);
        assert_eq!(find(&lobby, "ada", id), "unknown");
    }
    let ended = ids.iter().filter(|id| find(&lobby, "ada", id) == "unknown").count();
    assert_eq!(ended, 4, "so many are remembered");
}

#[tokio::test(start_paused = true)]
async fn an_id_is_good_for_so_long() {
    let issued = open(&lobby(Settings::default()), "ada");
    let brief = lobby(Settings { session_lifetime: Duration::ZERO, ..Settings::default() });
    // The clock on the wall counts whole seconds.
    let sealed = super::Sealed {
        revision: "2025-06-18".to_owned(),
        principal: "ada".to_owned(),
        capabilities: "{}".to_owned(),
        client: None,
        issued: 1,
        name: None,
    };
    let old = serde_json::to_vec(&sealed).unwrap();
    let old = brief.seal.seal(Purpose::Session, &old).unwrap();
    assert_eq!(find(&brief, "ada", &old), "unknown");
    assert_eq!(find(&lobby(Settings::default()), "ada", &issued), "found");
}

#[tokio::test(start_paused = true)]
async fn a_session_has_so_many_streams() {
    let lobby = lobby(Settings { streams_of_session: 2, ..Settings::default() });
    let id = open(&lobby, "ada");
    let SessionLookup::Found(session) = lobby.sessions.find(&lobby, &Visitor::new("ada"), &id)
    else {
        panic!("the session is there")
    };
    let first = session.open_stream(&lobby).unwrap();
    assert!(session.open_stream(&lobby).is_some());
    assert!(session.open_stream(&lobby).is_none());
    first.finish();
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(session.open_stream(&lobby).is_some(), "one that has ended makes room");
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_outlive_what_its_visitor_may_use() {
    let lobby = lobby(Settings::default());
    let id = open(&lobby, "ada");
    let scope = |name: &str| Some(Arc::new(Scope { allow: vec![name.to_owned()] }));
    let narrow = Visitor { scope: scope("read*"), ..Visitor::new("ada") };
    let SessionLookup::Found(found) = lobby.sessions.find(&lobby, &narrow, &id) else {
        panic!("the session goes on")
    };
    assert_eq!(found.session.caller.scope, scope("read*"), "as its visitor has it now");
    for (visitor, expected) in [
        (Visitor { scope: scope("read*"), ..Visitor::new("ada") }, true),
        (Visitor { scope: scope("write*"), ..Visitor::new("ada") }, false),
        (Visitor::new("ada"), false),
        (Visitor { scope: scope("read*"), ..Visitor::new("bob") }, false),
    ] {
        let found = matches!(lobby.sessions.find(&lobby, &visitor, &id), SessionLookup::Found(_));
        assert_eq!(found, expected, "{visitor:?}");
    }
}
