//! Whom a server that never answers delays, and for how long.

use std::time::Duration;

use futures_util::future::join_all;
use gantry_client::{Endpoint, HttpKind, Target};
use gantry_gateway::{
    Call, CallError, CallEvent, Caller, ErrorKind, Gateway, Outcome, Reply, ServerInfo,
};
use gantry_protocol::Method;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;
use crate::upstreams::tests::fixture::{raw, upstream};
use crate::upstreams::{Profile, UpstreamConfig, UpstreamSettings, Upstreams};

/// A gateway with a server that takes connections and never answers.
struct Bench {
    gateway: Arc<Gateway>,
    upstreams: Upstreams,
    _listener: TcpListener,
}

impl Bench {
    async fn new(startup_wait: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let endpoint = Endpoint::new(url.parse().unwrap());
        let mute = |name: &str| UpstreamConfig {
            target: Ok(Target::Http(endpoint.clone(), HttpKind::Auto)),
            ..upstream(name)
        };
        let gateway = Gateway::builder(ServerInfo::new("test", "1")).build();
        let startup_wait = Duration::from_secs(startup_wait);
        let upstreams = Upstreams::new(UpstreamSettings { startup_wait, ..Default::default() });
        upstreams.attach(&gateway);
        let off = UpstreamConfig { disabled: true, ..mute("off") };
        let profiles = [("some", "mute"), ("none", "off")].map(|(name, server)| Profile {
            name: name.to_owned(),
            servers: vec![server.to_owned()],
            include: Vec::new(),
            exclude: Vec::new(),
        });
        upstreams.configure(vec![mute("mute"), off], profiles.into());
        Self { gateway, upstreams, _listener: listener }
    }

    fn virtual_server(&self, name: &str) -> Arc<Gateway> {
        let gateway = Gateway::builder(ServerInfo::new(name, "1")).build();
        self.upstreams.attach_virtual_server(name, &gateway);
        gateway
    }
}

/// After how many seconds a call ends, and how.
async fn ends(gateway: &Arc<Gateway>, method: &str, params: serde_json::Value) -> (u64, Outcome) {
    ends_for(gateway, method, params, None).await
}

/// The same of a client whose session first listed something then.
async fn ends_for(
    gateway: &Arc<Gateway>,
    method: &str,
    params: serde_json::Value,
    listing_since: Option<Instant>,
) -> (u64, Outcome) {
    let started = Instant::now();
    let caller = Arc::new(Caller::new("someone"));
    let mut call = Call::new(Method::parse(method), raw(&params.to_string()), caller);
    call.listing_since = listing_since;
    let mut running = gateway.start(call);
    loop {
        if let CallEvent::Done(outcome) = running.next_event().await {
            return (started.elapsed().as_secs(), outcome);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_once_and_for_those_it_shows() {
    for wait in [0, 5, 20] {
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            let bench = Bench::new(wait).await;
            let virtual_servers =
                ["mute", "some", "off", "none"].map(|name| bench.virtual_server(name));
            let list = async |gateway| ends(gateway, method, json!({})).await.0;
            assert_eq!(
                [list(&virtual_servers[2]).await, list(&virtual_servers[3]).await],
                [0, 0],
                "it is disabled"
            );
            let all: Vec<u64> =
                join_all([&bench.gateway, &virtual_servers[0], &virtual_servers[1]].map(list))
                    .await;
            assert_eq!(all, [wait; 3], "{method}");
            assert_eq!(list(&bench.gateway).await, 0, "{method}: nobody waits twice");
        }
    }
}

/// Each client waits for what is being started when it lists first, however late it comes.
#[tokio::test(start_paused = true)]
async fn the_first_lists_of_a_session_wait_whenever_it_begins() {
    let bench = Bench::new(5).await;
    sleep_until(Instant::now() + Duration::from_secs(6)).await;
    let list = async |method, since| ends_for(&bench.gateway, method, json!({}), since).await.0;
    assert_eq!(list("tools/list", None).await, 0, "nobody knows whether it is the first");
    let since = Some(Instant::now());
    let together = join_all(["tools/list", "prompts/list"].map(|method| list(method, since)));
    assert_eq!(together.await, [5, 5]);
    for method in ["tools/list", "resources/list"] {
        assert_eq!(list(method, since).await, 0, "{method}: it does not wait twice");
    }
    let off = bench.virtual_server("off");
    let first = ends_for(&off, "tools/list", json!({}), Some(Instant::now())).await.0;
    assert_eq!(first, 0, "it is disabled");
}

#[test]
fn lists_wait_for_five_seconds_by_default() {
    assert_eq!(UpstreamSettings::default().startup_wait, Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_server_waits_for_it_as_long_as_a_call_may_take() {
    let bench = Bench::new(5).await;
    let alone = bench.virtual_server("mute");
    let call = async |gateway, tool: &str| {
        let (after, outcome) = ends(gateway, "tools/call", json!({"name": tool})).await;
        match outcome {
            Err(CallError { kind: ErrorKind::ToolNotFound, .. }) => (after, "unknown".to_owned()),
            Ok(Reply::Result(result)) => (after, result.into_raw().to_string()),
            outcome => panic!("{outcome:?}"),
        }
    };
    let (after, told) = call(&bench.gateway, "mute_x").await;
    assert!(after == 30 && told.contains("still being started"), "{after}: {told}");
    let (after, told) = call(&alone, "x").await;
    assert!(after <= 30 && told.contains("`mute`"), "{after}: {told}");
    let bench = Bench::new(5).await;
    assert_eq!(call(&bench.gateway, "other").await, (5, "unknown".to_owned()));
    assert_eq!(call(&bench.gateway, "other").await, (0, "unknown".to_owned()));
    assert_eq!(call(&bench.gateway, "off_x").await.0, 0, "it is disabled");
}
