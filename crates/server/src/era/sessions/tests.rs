//! Session ids, and what is kept of sessions in memory.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{Badge, Caller, Gateway, Identity, Offered, Scope};
use gantry_protocol::{ClientCapabilities, Id, Method, RawJson, Revision};

use super::super::arrival::Arrival;
use super::super::session::Session;
use super::sealed::Sealed;
use super::{SessionLookup, mint};
use crate::doorman::Visitor;
use crate::lobby::Lobby;
use crate::quota::Resource;
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
    mint(lobby, &Session::new(Revision::parse("2025-06-18").unwrap(), caller, Offered::ALL))
        .unwrap()
}

/// What an id leads to, in a word.
fn find(lobby: &Lobby, principal: &str, id: &str) -> &'static str {
    match lobby.sessions.find(lobby, &Visitor::new(principal), id) {
        SessionLookup::Found(_) => "found",
        SessionLookup::Unknown => "unknown",
        SessionLookup::Full(_) => "full",
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
        lobby.sessions.end(&lobby.settings, "ada", id);
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
    let sealed = Sealed {
        revision: "2025-06-18".to_owned(),
        principal: "ada".to_owned(),
        capabilities: "{}".to_owned(),
        client: None,
        issued: 1,
        name: None,
        offered: None,
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

/// A lobby whose callers are told apart, with these limits.
fn shared(settings: Settings) -> Arc<Lobby> {
    let lobby = lobby(settings);
    lobby.quota.share_among_principals();
    lobby
}

/// The session that an id leads to.
fn found(lobby: &Lobby, visitor: &Visitor, id: &str) -> Arc<super::HttpSession> {
    match lobby.sessions.find(lobby, visitor, id) {
        SessionLookup::Found(session) => session,
        SessionLookup::Unknown => panic!("it is unknown"),
        SessionLookup::Full(exceeded) => panic!("{exceeded}"),
    }
}

fn set_level(lobby: &Lobby, id: &str) {
    let params = Some(RawJson::from_static(r#"{"level":"debug"}"#));
    let request = gantry_protocol::Request { id: Id::number(1), method: Method::SetLevel, params };
    let session = found(lobby, &Visitor::new("ada"), id);
    drop(session.session.handle(lobby, Arrival::new(request)));
}

#[tokio::test(start_paused = true)]
async fn a_session_ages_out_whatever_it_holds() {
    let idle = Duration::from_secs(60);
    let lobby = lobby(Settings { session_idle: idle, ..Settings::default() });
    let (level, streaming, calling) =
        (open(&lobby, "ada"), open(&lobby, "ada"), open(&lobby, "ada"));
    set_level(&lobby, &level);
    let log = found(&lobby, &Visitor::new("ada"), &streaming).open_stream(&lobby).unwrap();
    let follower = log.follow(0, None);
    let call = found(&lobby, &Visitor::new("ada"), &calling).session.calls.enrol(&Id::number(1));
    tokio::time::advance(idle).await;
    lobby.sweep();
    assert_eq!(lobby.sessions.count(), 2, "those with an open stream or a running call stay");
    drop((follower, call));
    log.finish();
    tokio::time::advance(idle).await;
    lobby.sweep();
    assert_eq!(lobby.sessions.count(), 0);
    assert_eq!(lobby.quota.used(Resource::Sessions), 0);
    assert_eq!(lobby.quota.used(Resource::Held), 0);
}

#[tokio::test(start_paused = true)]
async fn a_principal_makes_room_for_itself_with_its_own_oldest() {
    let lobby = shared(Settings { sessions: 12, ..Settings::default() });
    let others: Vec<_> = (0..2).map(|_| open(&lobby, "bob")).collect();
    let ids: Vec<_> = (0..4).map(|_| open(&lobby, "ada")).collect();
    for id in &others {
        assert_eq!(find(&lobby, "bob", id), "found");
    }
    for id in &ids[..3] {
        tokio::time::advance(Duration::from_secs(1)).await;
        set_level(&lobby, id);
    }
    // The first of them is used again, so that the second is the oldest.
    find(&lobby, "ada", &ids[0]);
    assert_eq!(find(&lobby, "ada", &ids[3]), "found");
    let live = lobby.sessions.read();
    let kept = |principal: &str, id: &String| live[principal].by_id.contains_key(id);
    assert_eq!(ids.iter().map(|id| kept("ada", id)).collect::<Vec<_>>(), [true, false, true, true]);
    assert!(others.iter().all(|id| kept("bob", id)), "those of others stay");
}

#[tokio::test(start_paused = true)]
async fn when_all_is_used_up_the_principal_with_most_gives_way() {
    let settings = Settings { sessions: 6, principal_share: 50, ..Settings::default() };
    let lobby = shared(settings);
    for principal in ["ada", "bob"] {
        (0..3).for_each(|_| assert_eq!(find(&lobby, principal, &open(&lobby, principal)), "found"));
    }
    for principal in ["cy", "dan"] {
        assert_eq!(find(&lobby, principal, &open(&lobby, principal)), "found", "{principal}");
    }
    assert_eq!(lobby.sessions.count(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_credential() {
    let lobby = shared(Settings::default());
    let badge = Arc::new(Badge::default());
    let visitor = Visitor { badge: Some(badge.clone()), ..Visitor::new("ada") };
    let (id, other) = (open(&lobby, "ada"), open(&lobby, "bob"));
    let session = found(&lobby, &visitor, &id);
    let call = session.session.calls.enrol(&Id::number(1)).unwrap();
    assert_eq!(find(&lobby, "bob", &other), "found");
    badge.end();
    session.session.ended.cancelled().await;
    assert!(call.drive(std::pin::pin!(std::future::pending::<()>())).await.is_none());
    assert_eq!(lobby.sessions.count(), 1, "those of others stay");
    drop(session);
    assert_eq!(lobby.quota.used(Resource::Sessions), 1);
    assert_eq!(find(&lobby, "ada", &id), "unknown", "for good");
    // A request that was let in just before.
    let late = open(&lobby, "ada");
    assert!(matches!(lobby.sessions.find(&lobby, &visitor, &late), SessionLookup::Unknown));
}
