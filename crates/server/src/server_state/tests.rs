//! Providers hear what clients of either era watch, for as long as the client is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_gateway::{
    CallContext, Gateway, Listing, Outcome, Provider, Resolved, ResourceEntry, ServerInfo,
};
use gantry_protocol::RawJson;
use tokio::sync::watch;

use crate::in_process::Link;
use crate::server_state::ServerState;
use crate::settings::Settings;

/// A provider of one resource that keeps what it heard last.
struct RecordingProvider(watch::Sender<BTreeSet<String>>);

impl Provider for RecordingProvider {
    fn name(&self) -> &str {
        "recorder"
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        unreachable!("nothing is called here")
    }

    fn watched(&self, uris: &BTreeSet<String>) {
        self.0.send_replace(uris.clone());
    }
}

fn house() -> (Arc<ServerState>, watch::Receiver<BTreeSet<String>>) {
    let gateway = Gateway::builder(ServerInfo::new("watched", "1")).build();
    let (recorder, heard) = watch::channel(BTreeSet::new());
    let definition = RawJson::from_static(r#"{"uri":"test://one","name":"one"}"#);
    let one = Arc::new(ResourceEntry::new(definition).expect("a resource"));
    let listing = Listing { resources: vec![one], ..Listing::default() };
    gateway.attach(Arc::new(RecordingProvider(recorder))).publish(listing);
    (ServerState::new(gateway, Settings::default()), heard)
}

/// Waits until the provider has heard this, which is sure to come.
async fn hears(heard: &mut watch::Receiver<BTreeSet<String>>, uris: &[&str]) {
    let uris: BTreeSet<String> = uris.iter().map(|&uri| uri.to_owned()).collect();
    let waiting = heard.wait_for(|heard| *heard == uris);
    let came = tokio::time::timeout(Duration::from_secs(30), waiting).await;
    assert!(came.is_ok_and(|heard| heard.is_ok()), "the provider hears of {uris:?}");
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}"#;
const UNSUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"test://one"}}"#;
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://one"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;

#[tokio::test]
async fn what_is_watched_reaches_the_provider() {
    let (server_state, mut heard) = house();
    let cases: [(&[&str], &str); 2] =
        [(&[INITIALIZE, INITIALIZED, SUBSCRIBE], UNSUBSCRIBE), (&[LISTEN], CANCEL)];
    for (begins, ends) in cases {
        for hangs_up in [false, true] {
            let link = Link::open(&server_state, "someone");
            for message in begins {
                assert!(link.send(*message).await);
            }
            hears(&mut heard, &["test://one"]).await;
            if !hangs_up {
                assert!(link.send(ends).await);
                hears(&mut heard, &[]).await;
            }
            drop(link);
            hears(&mut heard, &[]).await;
        }
    }
}
