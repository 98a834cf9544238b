//! Rules in the real binary: what each client sees and may call, in both eras, and what happens
//! when the rules change while it runs.

mod watching;

use std::fs;

use gantry_tests::processes;
use gantry_tests::request::{NEWEST, Request, bodiless, call, list, request};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{RawClient, UpstreamFixture, scripted};
use serde_json::{Value, json};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEWEST];

/// A gateway before one server with tools and one with a resource and a prompt, and with these
/// rules in its configuration.
async fn open(name: &str, rules: Value) -> UpstreamFixture {
    let others = scripted(&["bytes"], json!({"exclude": ["*"]}));
    let servers = json!({"s": scripted(&["well"], json!({})), "b": others});
    let fixture = UpstreamFixture::open(name, servers).await;
    fixture.until_listed("s").await;
    let prompts = || by_another(request("prompts/list", json!({})));
    let offered = async {
        while names(&prompts().ask(fixture.address).await, "prompts", "name").is_empty() {}
    };
    soon("a prompt", offered).await;
    save(&fixture, rules);
    fixture
}

/// Saves the rules beside whatever else the configuration says.
fn save(fixture: &UpstreamFixture, rules: Value) {
    let file = fixture.bench.folder.join("gantry.json");
    let text = fs::read_to_string(&file).expect("a configuration");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["policy"]["rules"] = rules;
    let draft = fixture.bench.folder.join("gantry.json.new");
    fs::write(&draft, config.to_string()).expect("a file");
    fs::rename(draft, file).expect("a file");
}

/// Two things may not be used by the client that all tests use.
fn hiding() -> Value {
    json!([{"name": "hide", "effect": "deny", "who": {"clients": ["test"]}, "what": {
        "tools": ["s_odd", "s/who"], "resources": ["scripted:*"], "prompts": ["b_greet"],
    }}])
}

fn names(answer: &Value, kind: &str, key: &str) -> Vec<String> {
    let items = answer["result"][kind].as_array().unwrap_or_else(|| panic!("{kind} in {answer}"));
    items.iter().filter_map(|item| item[key].as_str()).map(str::to_owned).collect()
}

/// Another client than the usual one.
fn by_another(request: Request) -> Request {
    request.meta("clientInfo", json!({"name": "friend", "version": "1"}))
}

async fn until_tools(fixture: &UpstreamFixture, expected: &[&str]) {
    let listed =
        async { while names(&list().ask(fixture.address).await, "tools", "name") != expected {} };
    soon("the rules to be in force", listed).await;
}

#[tokio::test]
async fn one_sees_what_one_may_use_in_every_revision() {
    let mut fixture = open("rules-sights", hiding()).await;
    until_tools(&fixture, &["s_answers", "s_well"]).await;
    for revision in REVISIONS {
        let mut raw_client = RawClient::posting(&fixture, revision).await;
        let lists = [
            ("tools/list", "tools", vec!["s_answers", "s_well"]),
            ("resources/list", "resources", vec![]),
            ("prompts/list", "prompts", vec![]),
        ];
        for (method, kind, expected) in lists {
            let answer = raw_client.ask(&mut fixture, method, json!({})).await;
            let answer = serde_json::from_str(&answer).expect("JSON");
            assert_eq!(names(&answer, kind, "name"), expected, "{revision} {method}");
        }
        assert_eq!(
            raw_client.call(&mut fixture, "s_well").await.as_deref(),
            Ok("well"),
            "{revision}"
        );
        let refused = [
            ("tools/call", json!({"name": "s_odd", "arguments": {}})),
            ("tools/call", json!({"name": "s_who", "arguments": {}})),
            ("resources/read", json!({"uri": "scripted://note"})),
            ("prompts/get", json!({"name": "b_greet"})),
        ];
        for (method, params) in refused {
            let answer = raw_client.ask(&mut fixture, method, params.clone()).await;
            assert!(answer.contains("rule `hide` at gantry.json:1 denies it"), "{params} {answer}");
        }
        if revision != NEWEST {
            let uri = json!({"uri": "scripted://note"});
            let answer = raw_client.ask(&mut fixture, "resources/subscribe", uri).await;
            assert!(answer.contains("there is no resource"), "{revision} {answer}");
        }
    }
    fixture.close().await;
}

#[tokio::test]
async fn no_other_door_leads_around_a_rule() {
    let fixture = open("rules-doors", hiding()).await;
    until_tools(&fixture, &["s_answers", "s_well"]).await;
    let alone = list().to("/mcp/s").ask(fixture.address).await;
    assert_eq!(names(&alone, "tools", "name"), ["answers", "well"]);
    for tool in ["odd", "who"] {
        let answer = call(tool, json!({})).to("/mcp/s").ask(fixture.address).await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("rule `hide`"), "{tool}: {answer}");
    }
    let calls = json!([{"id": "a", "name": "s_well"}, {"id": "b", "name": "s_who"}]);
    let batch = request("gantry/batch", json!({"calls": calls})).ask(fixture.address).await;
    let text = batch.to_string();
    assert!(text.contains("rule `hide`") && text.contains("well"), "{batch}");
    let discovered = request("server/discover", json!({})).ask(fixture.address).await;
    let counts = &discovered["result"]["_meta"]["gantry/counts"];
    assert_eq!(counts["tools_count"], 2, "{discovered}");
    assert_eq!(counts["prompts_count"], 0, "{discovered}");
    let wanted = json!({"notifications": {"resourceSubscriptions": ["scripted://note"]}});
    let listen = request("subscriptions/listen", wanted);
    for (listen, granted) in [(listen.clone(), 0), (by_another(listen), 1)] {
        let first = listen.send(fixture.address).await.message().await.expect("an acknowledgement");
        let watched = first["params"]["notifications"]["resourceSubscriptions"].as_array();
        assert_eq!(watched.map_or(0, Vec::len), granted, "{first}");
    }

    // Others see all of it, at the same time.
    let all = by_another(list()).ask(fixture.address).await;
    assert_eq!(names(&all, "tools", "name"), ["s_answers", "s_odd", "s_well", "s_who"]);
    let discovered = by_another(request("server/discover", json!({}))).ask(fixture.address).await;
    assert_eq!(discovered["result"]["_meta"]["gantry/counts"]["tools_count"], 4, "{discovered}");
    let who = by_another(call("s_who", json!({}))).ask(fixture.address).await;
    assert!(who["result"]["content"][0]["text"].is_string(), "{who}");
    fixture.close().await;
}

#[tokio::test]
async fn a_change_is_in_force_at_once_and_told() {
    let mut fixture = open("rules-reload", json!([])).await;
    until_tools(&fixture, &["s_answers", "s_odd", "s_well", "s_who"]).await;
    let mut raw_client = RawClient::posting(&fixture, "2025-11-25").await;
    let session = raw_client.session().expect("a session").to_owned();
    let mut general = bodiless("GET").of(&session).send(fixture.address).await;
    let first = general.event().await.expect("the stream is open");
    assert_eq!(first.data.as_deref(), Some(""));
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let listen = request("subscriptions/listen", wanted);
    let mut streams =
        vec![listen.send(fixture.address).await, listen.to("/mcp/s").send(fixture.address).await];
    for stream in &mut streams {
        stream.message().await.expect("an acknowledgement");
    }
    streams.push(general);

    save(&fixture, hiding());
    for stream in &mut streams {
        let told = async {
            while let Some(message) = stream.message().await {
                if message["method"] == "notifications/tools/list_changed" {
                    return;
                }
            }
            panic!("the stream has ended");
        };
        soon("a word of the change", told).await;
    }
    assert_eq!(fixture.tools("s").await, ["answers", "well"]);
    let error = raw_client.call(&mut fixture, "s_odd").await.expect_err("it is refused");
    assert!(error.contains("rule `hide`"), "{error}");
    drop(streams);
    fixture.close().await;
}

#[tokio::test]
async fn what_is_wrong_leaves_the_old_rules_in_force() {
    let fixture = open("rules-broken", hiding()).await;
    until_tools(&fixture, &["s_answers", "s_well"]).await;
    let broken = [
        json!([{"effect": "forbid"}]),
        json!([{"effect": "deny", "what": {"tool": ["x"]}}]),
        json!([{"effect": "allow", "when": "args.("}]),
        json!([{"effect": "allow", "when": "(".repeat(1500)}]),
        json!({}),
    ];
    for rules in broken {
        let complaints = || fixture.log().matches("the configuration is not valid").count();
        let before = complaints();
        save(&fixture, rules.clone());
        processes::until("a word about it", || complaints() > before).await;
        let answer = call("s_odd", json!({})).ask(fixture.address).await;
        assert!(answer.to_string().contains("rule `hide`"), "{rules}: {answer}");
    }
    // A name that differs in case only is told, and compared exactly.
    save(&fixture, json!([{"name": "case", "effect": "deny", "what": {"tools": ["S_Odd"]}}]));
    processes::until("a warning", || fixture.log().contains("but there is `s_odd`")).await;
    let answer = call("s_well", json!({})).ask(fixture.address).await;
    assert_eq!(answer["result"]["content"][0]["text"], "well", "{answer}");
    fixture.close().await;
}

#[tokio::test]
async fn conditions_look_at_arguments() {
    let rules = json!([
        {"name": "loud", "effect": "deny", "what": {"tools": ["s_well"]},
         "when": "has(args.loud) && args.loud > 3"},
        {"name": "shy", "effect": "deny", "shadow": true, "what": {"tools": ["s_well"]}},
        {"name": "broken", "effect": "deny", "what": {"tools": ["s_odd"]}, "when": "args.x == 1"},
    ]);
    let fixture = open("rules-conditions", rules).await;
    let refused = async { while fixture.call("s_odd", json!({})).await.is_ok() {} };
    soon("the rules to be in force", refused).await;
    let cases = [
        ("s_well", json!({}), None),
        ("s_well", json!({"loud": 3}), None),
        ("s_well", json!({"loud": 4}), Some("rule `loud`")),
        ("s_well", json!({"loud": "x"}), Some("rule `loud`")),
        ("s_odd", json!({}), Some("rule `broken`")),
        ("s_odd", json!({"x": 1}), Some("rule `broken`")),
    ];
    for (tool, arguments, expected) in cases {
        let found = fixture.call(tool, arguments.clone()).await;
        match expected {
            None => assert_eq!(found.as_deref(), Ok("well"), "{arguments}"),
            Some(rule) => {
                let error = found.expect_err("it is refused");
                assert!(error.contains(rule), "{tool} {arguments}: {error}");
            }
        }
    }
    // Agents raise errors of the protocol, and show results to their model.
    let denied = call("s_well", json!({"loud": 4})).ask(fixture.address).await;
    let result = &denied["result"];
    assert_eq!((&result["isError"], &denied["error"]), (&json!(true), &Value::Null), "{denied}");
    assert_eq!(result["_meta"]["gantry/error"]["error_type"], "PermissionError", "{denied}");
    // A condition that cannot be answered is told once, a shadow rule each time.
    let log = fixture.log();
    assert_eq!(log.matches("cannot be answered").count(), 2, "{log}");
    assert!(log.contains("a shadow rule would refuse `s_well`"), "{log}");
    fixture.close().await;
}
