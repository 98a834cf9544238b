//! Lists of an earlier run: whose they are, and what becomes of calls meanwhile.

use std::path::{Path, PathBuf};

use gantry_client::{Start, Target as Place};
use gantry_gateway::ErrorKind;
use gantry_protocol::Method;
use serde_json::json;

use super::bench::{Bench, Era, peer, value};
use super::{UpstreamConfig, UpstreamSettings};

/// A folder for one test, with what a server of that entry listed in an earlier run.
async fn remembered(test: &str, entry: UpstreamConfig) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("gantry-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let first = Bench::new(settings(&folder), vec![entry]).await;
    let file = || std::fs::read_dir(&folder).ok()?.next()?.ok().map(|entry| entry.path());
    let is_kept =
        |file: Option<PathBuf>| file.filter(|it| it.extension().is_some_and(|it| it == "json"));
    first.until(|_| is_kept(file()).is_some()).await;
    first.upstreams.stop().await;
    let file = is_kept(file()).expect("it is kept");
    (folder, file)
}

fn settings(folder: &Path) -> UpstreamSettings {
    UpstreamSettings { folder: Some(folder.to_owned()), ..UpstreamSettings::default() }
}

/// A server of the configuration file of a project, which is started when it is needed.
fn lazy(project: &str) -> UpstreamConfig {
    let mut upstream = peer("one", Era::Legacy);
    upstream.source = Some(format!("/{project}/gantry.json").into());
    upstream.client.start = Start::Lazy;
    upstream
}

#[tokio::test]
async fn lists_are_remembered_for_the_same_server_of_the_same_file_only() {
    let (folder, _) = remembered("whose", lazy("a")).await;
    let other_program = || {
        let mut upstream = lazy("a");
        if let Ok(Place::Program(program)) = &mut upstream.target {
            program.args.push("more".to_owned());
        }
        upstream
    };
    // Whether it is listed without being started.
    let cases =
        [(lazy("a"), true), (lazy("b"), false), (other_program(), false), (lazy("a"), false)];
    for (number, (entry, expected)) in cases.into_iter().enumerate() {
        let (identity, file) = (entry.identity(), folder.join(entry.cache_file()));
        let bench = Bench::new(settings(&folder), vec![entry]).await;
        let status = &bench.upstreams.status()[0];
        assert_eq!(status.tools, 13, "{number}");
        assert_eq!(status.state == "configured", expected, "{number}: {}", status.state);
        let written = || std::fs::read_to_string(&file).unwrap_or_default();
        bench.until(|_| written().contains(&identity)).await;
        bench.upstreams.stop().await;
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_call_waits_for_what_the_server_lists_now() {
    let (folder, file) = remembered("waits", lazy("a")).await;
    let kept = std::fs::read_to_string(&file).unwrap();
    // Since then a tool and a prompt have got other names.
    let kept = kept.replace("\"echo\"", "\"former\"").replace("\"hello\"", "\"goodbye\"");
    std::fs::write(&file, kept).unwrap();
    let bench = Bench::new(settings(&folder), vec![lazy("a")]).await;
    assert_eq!(bench.upstreams.status()[0].state, "configured", "it does not run");
    let listed = bench.names("tools/list", "tools", "name").await;
    assert!(listed.contains(&"one_former".to_owned()), "{listed:?}");
    let gone = bench.call(Method::ToolsCall, &json!({"name": "one_former"})).await;
    assert_eq!(gone.unwrap_err().kind, ErrorKind::ToolNotFound);
    let gone = bench.call(Method::PromptsGet, &json!({"name": "one_goodbye"})).await;
    assert_eq!(gone.unwrap_err().kind, ErrorKind::InvalidParams);
    assert!(bench.call(Method::ToolsCall, &json!({"name": "one_echo"})).await.is_ok());
    bench.upstreams.stop().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_call_is_told_why_the_server_does_not_list() {
    let (folder, _) = remembered("told", lazy("a")).await;
    let mut away = lazy("a");
    if let Ok(Place::Program(program)) = &mut away.target {
        program.directory = Some("/no/such/folder".into());
    }
    let bench = Bench::new(settings(&folder), vec![away]).await;
    let told = bench.call(Method::ToolsCall, &json!({"name": "one_echo"})).await.map(value);
    let told = told.expect("a result that a model can read");
    assert_eq!(told["isError"], true);
    assert!(told.to_string().contains("the server `one` cannot be reached"), "{told}");
    bench.upstreams.stop().await;
    std::fs::remove_dir_all(folder).unwrap();
}
