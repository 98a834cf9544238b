//! Session ids, and what is kept of sessions in memory.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{Caller, Gateway, OptionalCapabilities, Scope, ServerInfo, TokenLease};
use gantry_protocol::{ClientCapabilities, Id, Method, RawJson, Revision};

use crate::authenticator::Identity;
use crate::quota::Resource;
use crate::request::ParsedRequest;
use crate::seal::Purpose;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::session::session_id::{Sealed, seal_session_id};
use crate::session::session_table::SessionLookup;
use crate::settings::Settings;

fn server_state(settings: Settings) -> Arc<ServerState> {
    let gateway = Gateway::builder(ServerInfo::new("sessions", "1")).build();
    ServerState::new(gateway, Settings { key: Some([7; 32]), ..settings })
}

fn open(server_state: &ServerState, principal: &str) -> String {
    let capabilities = RawJson::from_static(r#"{"roots":{},"vendor":[1.50]}"#);
    let caller = Caller {
        capabilities: ClientCapabilities::read(capabilities),
        client_info: Some(RawJson::from_static(r#"{"name":"test"}"#)),
        ..Caller::new(principal)
    };
    seal_session_id(
        server_state,
        &Session::new(Revision::parse("2025-06-18").unwrap(), caller, OptionalCapabilities::ALL),
    )
    .unwrap()
}

/// What an id leads to, in a word.
fn find(server_state: &ServerState, principal: &str, id: &str) -> &'static str {
    match server_state.sessions.find(server_state, &Identity::new(principal), id) {
        SessionLookup::Found(_) => "found",
        SessionLookup::Unknown => "unknown",
        SessionLookup::Full(_) => "full",
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_carries_what_was_agreed() {
    let id = open(&server_state(Settings::default()), "ada");
    let restarted = server_state(Settings::default());
    let SessionLookup::Found(found) =
        restarted.sessions.find(&restarted, &Identity::new("ada"), &id)
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
    let server_state = server_state(Settings::default());
    let id = open(&server_state, "ada");
    let state = server_state.seal.seal(Purpose::RequestState, b"{}").unwrap();
    let nonsense = server_state.seal.seal(Purpose::Session, b"{}").unwrap();
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
        assert_eq!(find(&server_state, "ada", forged), "unknown", "{forged}");
    }
    assert_eq!(find(&server_state, "eve", &id), "unknown", "sealed for another");
    assert_eq!(find(&server_state, "ada", &id), "found");
    assert_eq!(find(&server_state, "eve", &id), "unknown", "and in memory for another");
    assert_eq!(server_state.sessions.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_make_room_and_go_on_when_used() {
    let server_state = server_state(Settings { sessions: 10, ..Settings::default() });
    let ids: Vec<_> = (0..50).map(|_| open(&server_state, "ada")).collect();
    for id in &ids {
        assert_eq!(find(&server_state, "ada", id), "found");
        assert!(server_state.sessions.count() <= 10);
    }
    assert!(ids.iter().all(|id| find(&server_state, "ada", id) == "found"), "each goes on");
}

#[tokio::test(start_paused = true)]
async fn busy_sessions_make_no_room() {
    let server_state = server_state(Settings { sessions: 2, ..Settings::default() });
    let ids: Vec<_> = (0..3).map(|_| open(&server_state, "ada")).collect();
    let mut calls = Vec::new();
    for id in &ids[..2] {
        let SessionLookup::Found(found) =
            server_state.sessions.find(&server_state, &Identity::new("ada"), id)
        else {
            panic!("there is room")
        };
        calls.push(found.session.calls.register(&Id::number(1)).unwrap());
    }
    assert_eq!(find(&server_state, "ada", &ids[2]), "full");
    assert_eq!(find(&server_state, "ada", &ids[0]), "found", "those inside are not touched");
}

#[tokio::test(start_paused = true)]
async fn sessions_that_do_nothing_are_forgotten_but_not_lost() {
    let idle = Duration::from_secs(60);
    let server_state = server_state(Settings { session_idle: idle, ..Settings::default() });
    let (one, other) = (open(&server_state, "ada"), open(&server_state, "ada"));
    assert_eq!(
        (find(&server_state, "ada", &one), find(&server_state, "ada", &other)),
        ("found", "found")
    );
    tokio::time::advance(idle / 2).await;
    find(&server_state, "ada", &other);
    tokio::time::advance(idle / 2).await;
    server_state.sweep();
    assert_eq!(server_state.sessions.count(), 1, "the one that was used stays");
    assert_eq!(find(&server_state, "ada", &one), "found", "the other comes back");
}

#[tokio::test(start_paused = true)]
async fn ended_sessions_stay_ended_within_bounds() {
    let settings = Settings { sessions: 4, ..Settings::default() };
    let server_state = server_state(settings);
    let ids: Vec<_> = (0..6).map(|_| open(&server_state, "ada")).collect();
    for id in &ids {
        find(&server_state, "ada", id);
        server_state.sessions.end(&server_state.settings, "ada", id);
        assert_eq!(find(&server_state, "ada", id), "unknown");
    }
    let ended = ids.iter().filter(|id| find(&server_state, "ada", id) == "unknown").count();
    assert_eq!(ended, 4, "so many are remembered");
}

#[tokio::test(start_paused = true)]
async fn an_id_is_good_for_so_long() {
    let issued = open(&server_state(Settings::default()), "ada");
    let brief = server_state(Settings { session_lifetime: Duration::ZERO, ..Settings::default() });
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
    assert_eq!(find(&server_state(Settings::default()), "ada", &issued), "found");
}

#[tokio::test(start_paused = true)]
async fn a_session_has_so_many_streams() {
    let server_state = server_state(Settings { streams_of_session: 2, ..Settings::default() });
    let id = open(&server_state, "ada");
    let SessionLookup::Found(session) =
        server_state.sessions.find(&server_state, &Identity::new("ada"), &id)
    else {
        panic!("the session is there")
    };
    let first = session.open_stream(&server_state).unwrap();
    assert!(session.open_stream(&server_state).is_some());
    assert!(session.open_stream(&server_state).is_none());
    first.finish();
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(session.open_stream(&server_state).is_some(), "one that has ended makes room");
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_outlive_what_its_visitor_may_use() {
    let server_state = server_state(Settings::default());
    let id = open(&server_state, "ada");
    let scope = |name: &str| Some(Arc::new(Scope { allow: vec![name.to_owned()] }));
    let narrow = Identity { scope: scope("read*"), ..Identity::new("ada") };
    let SessionLookup::Found(found) = server_state.sessions.find(&server_state, &narrow, &id)
    else {
        panic!("the session goes on")
    };
    assert_eq!(found.session.caller.scope, scope("read*"), "as its visitor has it now");
    for (identity, expected) in [
        (Identity { scope: scope("read*"), ..Identity::new("ada") }, true),
        (Identity { scope: scope("write*"), ..Identity::new("ada") }, false),
        (Identity::new("ada"), false),
        (Identity { scope: scope("read*"), ..Identity::new("bob") }, false),
    ] {
        let found = matches!(
            server_state.sessions.find(&server_state, &identity, &id),
            SessionLookup::Found(_)
        );
        assert_eq!(found, expected, "{identity:?}");
    }
}

/// A lobby whose callers are told apart, with these limits.
fn shared(settings: Settings) -> Arc<ServerState> {
    let server_state = server_state(settings);
    server_state.quota.share_among_principals();
    server_state
}

/// The session that an id leads to.
fn found(server_state: &ServerState, identity: &Identity, id: &str) -> Arc<super::HttpSession> {
    match server_state.sessions.find(server_state, identity, id) {
        SessionLookup::Found(session) => session,
        SessionLookup::Unknown => panic!("it is unknown"),
        SessionLookup::Full(exceeded) => panic!("{exceeded}"),
    }
}

fn set_level(server_state: &ServerState, id: &str) {
    let params = Some(RawJson::from_static(r#"{"level":"debug"}"#));
    let request = gantry_protocol::Request { id: Id::number(1), method: Method::SetLevel, params };
    let session = found(server_state, &Identity::new("ada"), id);
    drop(session.session.dispatch(server_state, ParsedRequest::new(request)));
}

#[tokio::test(start_paused = true)]
async fn a_session_ages_out_whatever_it_holds() {
    let idle = Duration::from_secs(60);
    let server_state = server_state(Settings { session_idle: idle, ..Settings::default() });
    let (level, streaming, calling) =
        (open(&server_state, "ada"), open(&server_state, "ada"), open(&server_state, "ada"));
    set_level(&server_state, &level);
    let log =
        found(&server_state, &Identity::new("ada"), &streaming).open_stream(&server_state).unwrap();
    let reader = log.read_from(0, None);
    let call = found(&server_state, &Identity::new("ada"), &calling)
        .session
        .calls
        .register(&Id::number(1));
    tokio::time::advance(idle).await;
    server_state.sweep();
    assert_eq!(
        server_state.sessions.count(),
        2,
        "those with an open stream or a running call stay"
    );
    drop((reader, call));
    log.finish();
    tokio::time::advance(idle).await;
    server_state.sweep();
    assert_eq!(server_state.sessions.count(), 0);
    assert_eq!(server_state.quota.used(Resource::Sessions), 0);
    assert_eq!(server_state.quota.used(Resource::Held), 0);
}

#[tokio::test(start_paused = true)]
async fn a_principal_makes_room_for_itself_with_its_own_oldest() {
    let server_state = shared(Settings { sessions: 12, ..Settings::default() });
    let others: Vec<_> = (0..2).map(|_| open(&server_state, "bob")).collect();
    let ids: Vec<_> = (0..4).map(|_| open(&server_state, "ada")).collect();
    for id in &others {
        assert_eq!(find(&server_state, "bob", id), "found");
    }
    for id in &ids[..3] {
        tokio::time::advance(Duration::from_secs(1)).await;
        set_level(&server_state, id);
    }
    // The first of them is used again, so that the second is the oldest.
    find(&server_state, "ada", &ids[0]);
    assert_eq!(find(&server_state, "ada", &ids[3]), "found");
    let live = server_state.sessions.read();
    let kept = |principal: &str, id: &String| live[principal].by_id.contains_key(id);
    assert_eq!(ids.iter().map(|id| kept("ada", id)).collect::<Vec<_>>(), [true, false, true, true]);
    assert!(others.iter().all(|id| kept("bob", id)), "those of others stay");
}

#[tokio::test(start_paused = true)]
async fn when_all_is_used_up_the_principal_with_most_gives_way() {
    let settings = Settings { sessions: 6, principal_share: 50, ..Settings::default() };
    let server_state = shared(settings);
    for principal in ["ada", "bob"] {
        (0..3).for_each(|_| {
            assert_eq!(find(&server_state, principal, &open(&server_state, principal)), "found");
        });
    }
    for principal in ["cy", "dan"] {
        assert_eq!(
            find(&server_state, principal, &open(&server_state, principal)),
            "found",
            "{principal}"
        );
    }
    assert_eq!(server_state.sessions.count(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_credential() {
    let server_state = shared(Settings::default());
    let lease = Arc::new(TokenLease::default());
    let identity = Identity { lease: Some(lease.clone()), ..Identity::new("ada") };
    let (id, other) = (open(&server_state, "ada"), open(&server_state, "bob"));
    let session = found(&server_state, &identity, &id);
    let call = session.session.calls.register(&Id::number(1)).unwrap();
    assert_eq!(find(&server_state, "bob", &other), "found");
    lease.end();
    session.session.ended.cancelled().await;
    assert!(call.run_until_cancelled(std::pin::pin!(std::future::pending::<()>())).await.is_none());
    assert_eq!(server_state.sessions.count(), 1, "those of others stay");
    drop(session);
    assert_eq!(server_state.quota.used(Resource::Sessions), 1);
    assert_eq!(find(&server_state, "ada", &id), "unknown", "for good");
    // A request that was let in just before.
    let late = open(&server_state, "ada");
    assert!(matches!(
        server_state.sessions.find(&server_state, &identity, &late),
        SessionLookup::Unknown
    ));
}
