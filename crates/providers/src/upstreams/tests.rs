//! Servers behind a gateway, with real programs.

mod bench;
mod caches;
pub(super) mod fixture;
mod names;
mod sharing;

use std::time::Duration;

use gantry_client::{Start, Target as Place};
use gantry_gateway::{Caller, ErrorKind, Event};
use gantry_protocol::Method;
use serde_json::json;

use self::bench::{Bench, Era, peer, text, value};
use super::{Profile, UpstreamConfig, UpstreamSettings};

fn pair() -> Vec<UpstreamConfig> {
    vec![peer("one", Era::Legacy), peer("two", Era::Modern)]
}

#[tokio::test]
async fn calls_reach_the_server_that_has_the_tool() {
    let bench = Bench::with(pair()).await;
    let names = bench.names("tools/list", "tools", "name").await;
    assert_eq!(names.len(), 26, "{names:?}");
    assert_eq!((names[0].as_str(), names[13].as_str()), ("one_ask", "two_ask"));
    for server in ["one", "two"] {
        let prompt = json!({"name": format!("{server}_hello")});
        let got = bench.call(Method::PromptsGet, &prompt).await.map(value).unwrap();
        assert_eq!(got["messages"][0]["content"]["text"], format!("hello {server}"));
        let params = format!(
            r#"{{"name":"{server}_echo", "arguments":{{"b":12345678901234567890, "a":1.50}},"_meta":{{"x.y/z":1.0}}}}"#
        );
        let seen = text(bench.call_raw(Method::ToolsCall, &params).await);
        let expected = r#""arguments":{"b":12345678901234567890, "a":1.50}"#;
        assert!(seen.contains(expected), "as the client wrote it, no default added: {seen}");
        assert!(seen.contains(r#""name":"echo""#) && seen.contains(r#""x.y/z":1.0"#), "{seen}");
    }
    let wrong = json!({"name": "one_echo", "arguments": {"n": "text"}});
    let refused = bench.call(Method::ToolsCall, &wrong).await.map(value).unwrap();
    assert_eq!(refused["isError"], true, "arguments are checked all the same");
}

#[tokio::test]
async fn equal_addresses_are_kept_apart() {
    let bench = Bench::with(pair()).await;
    let uris = bench.names("resources/list", "resources", "uri").await;
    assert_eq!(uris, ["gantry://two/x:shared", "x:one", "x:shared", "x:two"]);
    let cases = [
        ("x:shared", "one"),
        ("gantry://two/x:shared", "two"),
        ("x:two", "two"),
        ("t:7", "one"),
        ("gantry://two/t:7", "two"),
    ];
    for (uri, expected) in cases {
        let read = bench.call(Method::ResourcesRead, &json!({"uri": uri})).await.map(value);
        let read = read.unwrap();
        assert_eq!(read["contents"][0]["text"], expected, "{uri}");
        assert_eq!(read["contents"][0]["uri"], uri, "as it was asked for");
    }
    let missing = bench.call(Method::ResourcesRead, &json!({"uri": "gantry://two/t:0"})).await;
    assert_eq!(missing.unwrap_err().kind, ErrorKind::ResourceNotFound);
    let link = bench.tool("two_link").await;
    assert_eq!(link["content"][0]["uri"], "gantry://two/x:shared");
    let reference = json!({"type": "ref/resource", "uri": "gantry://two/t:{id}"});
    let params = json!({"ref": reference, "argument": {"name": "id", "value": ""}});
    let completed = bench.call(Method::Complete, &params).await.map(value).unwrap();
    let expected = r#"{"type": "ref/resource", "uri": "t:{id}"}"#;
    assert_eq!(completed["completion"]["values"][0], expected);
}

#[tokio::test]
async fn changes_of_watched_resources_are_told_under_our_address() {
    let bench = Bench::with(vec![peer("one", Era::Legacy), peer("two", Era::Legacy)]).await;
    let uri = "gantry://two/x:shared";
    let mut told = bench.watch(uri, Caller::new("someone")).await;
    bench.tool("two_touch").await;
    assert!(
        matches!(told.next().await, Some(Event::ResourceUpdated { uri: it, .. }) if *it == *uri)
    );
}

#[tokio::test]
async fn a_list_that_changed_is_asked_for_again() {
    let often = Duration::from_millis(10);
    let quiet = |refresh| UpstreamConfig { refresh, ..peer("one", Era::Quiet) };
    let seldom = UpstreamSettings::default;
    let refused = json!({"name": "one_fail", "arguments": {"code": -32602}});
    let cases = [
        (seldom(), peer("one", Era::Legacy), None),
        (seldom(), quiet(Some(often)), None),
        (UpstreamSettings { refresh: often, ..seldom() }, quiet(None), None),
        (seldom(), quiet(None), Some(refused)),
    ];
    for (settings, server, doubt) in cases {
        let bench = Bench::new(settings, vec![server]).await;
        bench.tool("one_grow").await;
        if let Some(doubt) = doubt {
            let error = bench.call(Method::ToolsCall, &doubt).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Handler { code: -32602 });
        }
        bench.until_listed("one_grown").await;
    }
}

#[tokio::test]
async fn a_server_that_dies_fails_its_own_calls_only() {
    let bench = Bench::with(pair()).await;
    let failed = bench.tool("one_die").await;
    assert_eq!(failed["isError"], true);
    let said = failed["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("`one`") && said.contains("gantry logs one"), "{said}");
    assert_eq!(bench.tool("two_process").await["isError"], json!(null));
    assert_eq!(bench.tool("one_process").await["isError"], json!(null), "it is started again");
    let log = bench.upstreams.log("one").unwrap();
    assert!(log.contains("my last words"), "{log}");
    assert_eq!(bench.upstreams.log("three"), None);
}

#[tokio::test]
async fn errors_of_a_server_are_carried_without_its_secrets() {
    let mut upstream = peer("one", Era::Legacy);
    if let Ok(Place::Program(program)) = &mut upstream.target {
        program.env.push(("KEY".to_owned(), "topsecret".to_owned()));
    }
    let bench = Bench::with(vec![upstream]).await;
    let params = json!({"name": "one_fail", "arguments": {"code": -32050}});
    let error = bench.call(Method::ToolsCall, &params).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Handler { code: -32050 });
    assert_eq!(error.public, "the key is …");
    assert_eq!(error.data.map(|data| data.to_string()), Some(r#"{"n":1}"#.to_owned()));
}

#[tokio::test]
async fn a_question_is_asked_and_answered() {
    let bench = Bench::with(pair()).await;
    for (server, expected) in [("one", "accept"), ("two", "accept mine")] {
        let name = format!("{server}_ask");
        let outcome = bench.answered(&name, r#"{"action":"accept","content":{}}"#).await;
        assert_eq!(text(outcome), expected);
        let error = bench.call(Method::ToolsCall, &json!({"name": name})).await.unwrap_err();
        let ErrorKind::MissingCapability { required } = error.kind else { panic!("{error:?}") };
        assert_eq!(required.as_str(), r#"{"elicitation":{}}"#, "{server}");
        if server == "one" {
            // What only asks by replying is refused before anything is asked.
            let wanted =
                ["`one` asked for `elicitation`", "nobody was asked", "call it from a client"];
            assert!(wanted.iter().all(|part| error.public.contains(part)), "{}", error.public);
        }
    }
}

#[tokio::test]
async fn pages_are_visited_before_the_call_is_made_again() {
    let bench = Bench::with(vec![peer("one", Era::Legacy)]).await;
    assert_eq!(text(bench.answered("one_page", r#"{"action":"accept"}"#).await), "seen");
}

#[tokio::test]
async fn a_task_is_followed_to_its_end() {
    let bench = Bench::with(pair()).await;
    for (tool, expected) in [("one_toil", "toiled decline"), ("two_work", "worked decline")] {
        let outcome = bench.answered(tool, r#"{"action":"decline"}"#).await;
        assert_eq!(text(outcome), expected);
    }
}

#[tokio::test]
async fn questions_that_come_together_go_out_together() {
    let bench = Bench::with(vec![peer("one", Era::Legacy)]).await;
    let params = json!({"name": "one_ask", "arguments": {"n": 3}});
    assert_eq!(bench.asked_at_once(&params).await, ["k0", "k1", "k2"]);
}

#[tokio::test]
async fn who_could_have_declared_tasks_is_refused_like_by_the_server() {
    let bench = Bench::with(vec![peer("two", Era::Modern)]).await;
    let error = bench.undeclared(&json!({"name": "two_work"})).await.unwrap_err();
    let ErrorKind::MissingCapability { required } = error.kind else { panic!("{error:?}") };
    assert!(required.at(&["extensions", "io.modelcontextprotocol/tasks"]).is_some());
}

#[tokio::test]
async fn a_call_is_a_task_when_its_server_says_that_it_runs_long() {
    let bench = Bench::with(vec![peer("one", Era::Legacy)]).await;
    let cases = [(json!({"name": "one_toil"}), true), (short(), false)];
    for (params, expected) in cases {
        assert_eq!(bench.becomes_task(&params).await, expected, "{params}");
    }
    assert_eq!(text(bench.call(Method::ToolsCall, &short()).await), "short");
}

fn short() -> serde_json::Value {
    json!({"name": "one_toil", "arguments": {"n": 1}})
}

#[tokio::test]
async fn progress_is_carried_with_all_that_is_in_it() {
    let bench = Bench::with(pair()).await;
    for name in ["one_speak", "two_speak"] {
        assert_eq!(bench.progress(name).await, [r#"{"progress":1,"x":1.5}"#], "{name}");
    }
}

#[tokio::test]
async fn a_server_is_shown_alone_and_a_profile_under_the_names_of_all() {
    let bench = Bench::with(pair()).await;
    let profile = Profile {
        name: "few".to_owned(),
        include: vec!["*_echo".to_owned()],
        ..Profile::default()
    };
    bench.upstreams.configure(pair(), vec![profile]);
    let names = bench.upstreams.virtual_servers().borrow().iter().cloned().collect::<Vec<_>>();
    assert_eq!(names, ["few", "one", "two"]);
    let alone = bench.virtual_server("two");
    assert_eq!(alone.names("tools/list", "tools", "name").await[1], "die");
    assert_eq!(alone.names("resources/list", "resources", "uri").await, ["x:shared", "x:two"]);
    assert_eq!(alone.tool("link").await["content"][0]["uri"], "x:shared");
    assert_eq!(alone.gateway.describe(&Caller::default()).instructions.as_deref(), Some("use two"));
    let few = bench.virtual_server("few");
    assert_eq!(few.names("tools/list", "tools", "name").await, ["one_echo", "two_echo"]);
    bench.upstreams.detach_virtual_server("two");
    assert!(alone.names("tools/list", "tools", "name").await.is_empty());
    let described = bench.gateway.describe(&Caller::default()).instructions;
    assert_eq!(described.as_deref(), Some("## one\n\nuse one\n\n## two\n\nuse two"));
}

#[tokio::test]
async fn only_what_changed_is_begun_anew() {
    let bench = Bench::with(pair()).await;
    let before = [bench.process("one").await, bench.process("two").await];
    let mut changed = pair();
    changed[1].prefix = Some("other".to_owned());
    bench.upstreams.configure(changed, Vec::new());
    assert_eq!(bench.process("one").await, before[0], "undisturbed");
    assert_ne!(bench.process("other").await, before[1]);
    bench.upstreams.configure(vec![peer("one", Era::Legacy)], Vec::new());
    assert_eq!(bench.process("one").await, before[0]);
    let gone = bench.call(Method::ToolsCall, &json!({"name": "other_echo"})).await;
    assert_eq!(gone.unwrap_err().kind, ErrorKind::ToolNotFound);
    assert_eq!(bench.upstreams.status().len(), 1);
    assert!(bench.upstreams.restart("one").await && !bench.upstreams.restart("two").await);
    assert_ne!(bench.process("one").await, before[0]);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_says_so() {
    let mut nowhere = peer("nowhere", Era::Legacy);
    if let Ok(Place::Program(program)) = &mut nowhere.target {
        program.program = "/no/such/program".into();
    }
    let mut off = peer("off", Era::Legacy);
    off.disabled = true;
    let wrong =
        UpstreamConfig { target: Err("`KEY` is not set".to_owned()), ..peer("wrong", Era::Legacy) };
    let bench = Bench::with(vec![nowhere, off, peer("one", Era::Legacy), wrong]).await;
    bench.until(|status| status[0].state == "backing off").await;
    let status = bench.upstreams.status();
    let states: Vec<_> = status.iter().map(|it| (it.name.as_str(), it.state)).collect();
    let expected =
        [("nowhere", "backing off"), ("off", "disabled"), ("one", "ready"), ("wrong", "disabled")];
    assert_eq!(states, expected);
    assert!(status[0].reason.as_deref().is_some_and(|it| it.contains("/no/such/program")));
    assert_eq!(status[3].reason.as_deref(), Some("`KEY` is not set"));
    for (server, reason) in [("off", "the configuration says so"), ("wrong", "`KEY` is not set")] {
        let call = json!({"name": format!("{server}_echo")});
        let told = bench.call(Method::ToolsCall, &call).await.map(value).unwrap().to_string();
        assert!(told.contains(&format!("`{server}` offers nothing: {reason}")), "{told}");
    }
    let unknown = bench.call(Method::ToolsCall, &json!({"name": "one_unknown"})).await;
    assert_eq!(unknown.expect_err("no tool").kind, ErrorKind::ToolNotFound);
    let one = &status[2];
    assert_eq!((one.tools, one.resources, one.prompts), (13, 3, 1));
    assert_eq!((one.transport, one.server.as_deref()), ("stdio", Some("peer 1")));
    assert!(one.revision.is_some() && one.health.process.is_some());
}

#[tokio::test]
async fn what_a_lazy_server_offered_last_is_known_before_it_runs() {
    let folder = std::env::temp_dir().join(format!("gantry-lazy-{}", std::process::id()));
    let settings =
        || UpstreamSettings { folder: Some(folder.clone()), ..UpstreamSettings::default() };
    let lazy = || {
        let mut upstream = peer("one", Era::Legacy);
        upstream.client.start = Start::Lazy;
        vec![upstream]
    };
    let first = Bench::new(settings(), lazy()).await;
    first.until(|_| folder.join("one.json").exists()).await;
    first.upstreams.stop().await;
    let second = Bench::new(settings(), lazy()).await;
    let status = second.upstreams.status();
    assert_eq!((status[0].state, status[0].tools), ("configured", 13), "it does not run");
    second.process("one").await;
    assert_eq!(second.upstreams.status()[0].state, "ready");
    second.upstreams.stop().await;
    // Its lists may still be written.
    while std::fs::remove_dir_all(&folder).is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_stays_away_is_withdrawn() {
    let settings = UpstreamSettings { keep: Duration::ZERO, ..UpstreamSettings::default() };
    let bench = Bench::new(settings, pair()).await;
    let mut changes = bench.changes();
    let mut broken = pair();
    if let Ok(Place::Program(program)) = &mut broken[0].target {
        program.program = "/no/such/program".into();
    }
    bench.upstreams.configure(broken, Vec::new());
    while bench.names("tools/list", "tools", "name").await.len() != 13 {
        changes.next().await.expect("a change");
    }
    assert_eq!(bench.tool("two_process").await["isError"], json!(null));
}

#[tokio::test]
async fn dropping_a_task_cancels_it() {
    let bench = Bench::with(vec![peer("two", Era::Modern)]).await;
    bench.abandoned("two_work").await;
    // It is told beside the calls, so that some may come before it.
    for _ in 0..10_000 {
        if bench.tool("two_ended").await["content"][0]["text"] == "work" {
            return;
        }
    }
    panic!("the server was not told");
}
