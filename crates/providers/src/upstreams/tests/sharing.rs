//! Connections of single users and sessions: whose they are, and how they are seen.

use std::time::Duration;

use gantry_client::Target as Place;
use gantry_gateway::Event;
use tokio::time::timeout;

use super::super::{Share, UpstreamConfig};
use super::bench::{Bench, Era, caller, peer};

fn shared(share: Share) -> Vec<UpstreamConfig> {
    vec![UpstreamConfig { share, ..peer("one", Era::Legacy) }]
}

#[tokio::test]
async fn users_and_sessions_have_processes_of_their_own() {
    for (share, alike) in [(Share::Process, [true, true]), (Share::User, [true, false])] {
        let bench = Bench::with(shared(share)).await;
        let mine = bench.process_of("one", "me", None).await;
        assert_eq!(mine == bench.process_of("one", "me", None).await, alike[0], "{share:?}");
        assert_eq!(mine == bench.process_of("one", "you", None).await, alike[1], "{share:?}");
    }
    let bench = Bench::with(shared(Share::Session)).await;
    let first = bench.process_of("one", "me", Some("1")).await;
    assert_eq!(first, bench.process_of("one", "me", Some("1")).await);
    assert_ne!(first, bench.process_of("one", "me", Some("2")).await);
}

/// A principal, and a session of it.
type Who = (&'static str, Option<&'static str>);

/// Two callers who do not share a connection.
const CASES: [(Share, [Who; 2]); 2] = [
    (Share::User, [("me", None), ("you", None)]),
    (Share::Session, [("me", Some("first")), ("me", Some("second"))]),
];

#[tokio::test]
async fn connections_of_users_and_sessions_are_counted_and_heard() {
    for (share, callers) in CASES {
        let bench = Bench::with(shared(share)).await;
        let status = || bench.upstreams.status().remove(0);
        assert_eq!(status().connections, Some(0), "{share:?}");
        let alone = status().health.memory.unwrap_or_default();
        for (number, (principal, session)) in callers.into_iter().enumerate() {
            let process = bench.process_of("one", principal, session).await;
            let (name, mut log) = bench.upstreams.own_logs("one").remove(number);
            assert_eq!(name, format!("{principal} {}", number + 1), "{share:?}");
            // It is read beside the answers, so that some may come before it.
            for _ in 0..10_000 {
                if log.contains(&format!("I am {process}\n")) {
                    break;
                }
                bench.process_of("one", principal, session).await;
                log = bench.upstreams.own_logs("one").remove(number).1;
            }
            assert!(log.contains(&format!("I am {process}\n")), "{share:?}: {log}");
        }
        let status = status();
        assert_eq!((status.connections, status.state), (Some(2), "ready"), "{share:?}");
        assert!(status.health.memory > Some(alone), "{share:?}: {:?}", status.health);
        assert_eq!(bench.upstreams.log("one").as_deref(), Some(""), "{share:?}");
        bench.upstreams.stop().await;
    }
    let bench = Bench::with(shared(Share::Process)).await;
    bench.process("one").await;
    assert_eq!(bench.upstreams.status()[0].connections, None);
    assert!(bench.upstreams.own_logs("one").is_empty() && bench.upstreams.own_logs("?").is_empty());
}

#[tokio::test]
async fn a_connection_of_one_user_that_fails_is_told() {
    let file = std::env::temp_dir().join(format!("gantry-full-{}", std::process::id()));
    let mut upstream = shared(Share::User).remove(0);
    if let Ok(Place::Program(program)) = &mut upstream.target {
        let unless = "[ -e \"$0\" ] && { echo no room >&2; exit 3; }; exec python3 \"$@\"";
        let words = ["-c", unless, file.to_str().unwrap()].map(str::to_owned);
        program.program = "sh".into();
        program.args.splice(0..0, words);
    }
    let bench = Bench::with(vec![upstream]).await;
    let before = bench.process_of("one", "me", None).await;
    std::fs::write(&file, "").unwrap();
    let refused = bench.tool_of("one_process", caller("you", None)).await;
    assert!(refused.contains("no room"), "{refused}");
    let status = bench.upstreams.status().remove(0);
    let reason = status.reason.unwrap_or_default();
    assert_eq!(status.state, "degraded", "{reason}");
    assert!(reason.starts_with("1 of 2 connections") && reason.contains("no room"), "{reason}");
    assert_eq!(bench.process_of("one", "me", None).await, before, "nobody else is disturbed");
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn what_changes_for_one_user_or_session_is_told_to_nobody_else() {
    for (share, callers) in CASES {
        let bench = Bench::with(shared(share)).await;
        let mut watchers = Vec::new();
        for (principal, session) in callers {
            let process = bench.process_of("one", principal, session).await;
            let told = bench.watch("x:shared", caller(principal, session)).await;
            watchers.push((process, told));
        }
        for (principal, session) in callers {
            bench.tool_of("one_touch", caller(principal, session)).await;
        }
        for (process, told) in &mut watchers {
            let event = timeout(Duration::from_secs(60), told.next()).await.expect("in time");
            let Some(Event::ResourceUpdated { uri, metadata }) = event else { panic!("{event:?}") };
            let expected = format!("{{\"process\":{process}}}");
            assert_eq!((&*uri, metadata.unwrap().as_str()), ("x:shared", &*expected), "{share:?}");
        }
        bench.upstreams.stop().await;
    }
}

#[tokio::test]
async fn a_list_that_changed_for_one_user_is_asked_for_again() {
    let file = std::env::temp_dir().join(format!("gantry-grown-{}", std::process::id()));
    let mut upstream = shared(Share::User).remove(0);
    if let Ok(Place::Program(program)) = &mut upstream.target {
        program.env.push(("GROWN".to_owned(), file.to_str().unwrap().to_owned()));
    }
    let bench = Bench::with(vec![upstream]).await;
    bench.tool_of("one_grow", caller("me", None)).await;
    bench.until_listed("one_grown").await;
    std::fs::remove_file(&file).unwrap();
}
