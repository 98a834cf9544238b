//! Names and addresses of servers that go away, come back, or are removed.

use std::time::Duration;

use gantry_client::Target as Place;
use gantry_protocol::Method;
use serde_json::json;

use super::bench::{Bench, Era, peer, value};
use super::{UpstreamConfig, UpstreamSettings};

/// How the first of two servers that have all names in common stands.
#[derive(Debug, Clone, Copy)]
enum First {
    There,
    /// Its program cannot be started.
    Away,
    /// Its entry is not valid.
    Wrong,
    Disabled,
    Removed,
}

fn servers(first: First) -> Vec<UpstreamConfig> {
    let plain = |name| UpstreamConfig { prefix: Some(String::new()), ..peer(name, Era::Legacy) };
    let (mut one, two) = (plain("one"), plain("two"));
    match first {
        First::There => {}
        First::Away => {
            if let Ok(Place::Program(program)) = &mut one.target {
                program.program = "/no/such/program".into();
            }
        }
        First::Wrong => one.target = Err("`KEY` is not set".to_owned()),
        First::Disabled => one.disabled = true,
        First::Removed => return vec![two],
    }
    vec![one, two]
}

/// Whom the names that both have lead to; a dash where they lead nowhere.
async fn whose(bench: &Bench) -> String {
    let read = async |uri: &str| {
        let read = bench.call(Method::ResourcesRead, &json!({"uri": uri})).await.map(value);
        read.map_or("-".to_owned(), |it| it["contents"][0]["text"].as_str().unwrap().to_owned())
    };
    let prompt = bench.call(Method::PromptsGet, &json!({"name": "hello"})).await.map(value);
    let prompt = prompt.map_or("-".to_owned(), |it| {
        let text = it["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
        text.trim_start_matches("hello ").to_owned()
    });
    let tool = bench.call(Method::ToolsCall, &json!({"name": "process"})).await.map(value);
    let tool = tool.map_or("-".to_owned(), |it| match it["isError"] == true {
        true => {
            let text = it["content"][0]["text"].as_str().unwrap().to_owned();
            assert!(text.contains("the server `one` "), "{text}");
            "-".to_owned()
        }
        false => "some".to_owned(),
    });
    format!("{} {} {prompt} {tool}", read("x:shared").await, read("t:7").await)
}

/// What is listed, and whom the names lead to.
type Stand = (&'static [&'static str], &'static str);

const ITS_OWN: Stand =
    (&["gantry://two/x:shared", "x:one", "x:shared", "x:two"], "one one one some");
const NOBODYS: Stand = (&["gantry://two/x:shared", "x:two"], "- - - -");
const THE_OTHERS: Stand = (&["x:shared", "x:two"], "two two two some");

/// Waits until it is so.
async fn until(bench: &Bench, first: First, (uris, leads): Stand) {
    let mut changes = bench.upstreams.changes();
    let listed = async || bench.names("resources/list", "resources", "uri").await;
    let waiting = async {
        while listed().await != uris || whose(bench).await != leads {
            changes.changed().await.expect("a change");
        }
    };
    if tokio::time::timeout(Duration::from_secs(60), waiting).await.is_err() {
        panic!("{first:?}: {:?} {} and not {leads}", listed().await, whose(bench).await);
    }
}

#[tokio::test]
async fn what_a_server_is_known_by_is_kept_for_it() {
    let settings = UpstreamSettings { keep: Duration::ZERO, ..UpstreamSettings::default() };
    let bench = Bench::new(settings, servers(First::There)).await;
    until(&bench, First::There, ITS_OWN).await;
    let steps = [
        (First::Away, NOBODYS),
        (First::There, ITS_OWN),
        (First::Wrong, NOBODYS),
        (First::There, ITS_OWN),
        (First::Disabled, THE_OTHERS),
        (First::There, ITS_OWN),
        (First::Removed, THE_OTHERS),
        (First::Away, THE_OTHERS),
    ];
    for (first, expected) in steps {
        bench.upstreams.configure(servers(first), Vec::new());
        until(&bench, first, expected).await;
    }
}

#[tokio::test]
async fn what_a_server_was_known_by_is_kept_for_it_after_a_restart() {
    let folder = std::env::temp_dir().join(format!("gantry-kept-{}", std::process::id()));
    let settings = || UpstreamSettings {
        keep: Duration::ZERO,
        folder: Some(folder.clone()),
        ..UpstreamSettings::default()
    };
    let bench = Bench::new(settings(), servers(First::There)).await;
    bench.until(|_| folder.join("one.json").exists()).await;
    bench.upstreams.stop().await;
    for (first, expected) in
        [(First::Wrong, NOBODYS), (First::Away, NOBODYS), (First::Removed, THE_OTHERS)]
    {
        let bench = Bench::new(settings(), servers(first)).await;
        assert_eq!(whose(&bench).await, expected.1, "{first:?} from the beginning");
        until(&bench, first, expected).await;
        bench.upstreams.stop().await;
    }
    std::fs::remove_dir_all(folder).unwrap();
}
