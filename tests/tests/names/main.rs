//! Every endpoint x every policy: whatever name and endpoint a call uses, what the operator wrote
//! about a tool holds, and the audit log has the call under the tool's canonical name.

mod endpoint;
mod resources;
mod shown;

use std::fs;

use gantry_tests::http::Outgoing;
use gantry_tests::temp_folder::{Bench, command, finish, program};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{UpstreamFixture, scripted};
use serde_json::{Value, json};

use endpoint::Endpoint;

/// The tool in the aggregate list. Its server `db` has another prefix than its name.
const CANONICAL: &str = "base_table.drop";

/// The name that clients see in the aggregate list.
const SHOWN: &str = "base_table_drop";

/// Its name in the contract.
const CONTRACT: &str = "db.table_drop";

/// All patterns by which an operator may restrict the tool.
const PATTERNS: [&str; 10] = [
    CANONICAL,
    "base_table.*",
    "db/table.drop",
    "table.drop",
    SHOWN,
    CONTRACT,
    "table_drop",
    "db/table_drop",
    "db/base_table_drop",
    "db/base_table.drop",
];

/// A policy that stops the tool: its configuration for a pattern, and what its refusal says.
struct Policy {
    name: &'static str,
    config: fn(&str) -> Value,
    refusal: &'static str,
    /// How many calls pass before it refuses, whichever endpoints they use.
    passing: usize,
}

const POLICIES: [Policy; 7] = [
    Policy {
        name: "destructive",
        config: |it| json!({"policy": {"destructive": [it], "approvals": {"wait": 50}}}),
        refusal: "nobody has approved it",
        passing: 0,
    },
    Policy {
        name: "approve",
        config: |it| json!({"policy": {"approve": [it], "approvals": {"wait": 50}}}),
        refusal: "nobody has approved it",
        passing: 0,
    },
    Policy {
        name: "deny rule",
        config: |it| rule("deny", it),
        refusal: "may not be called",
        passing: 0,
    },
    Policy {
        name: "approve rule",
        config: |it| rule("approve", it),
        refusal: "nobody has approved it",
        passing: 0,
    },
    Policy {
        name: "condition",
        config: |it| {
            let rule = json!({"name": "r", "effect": "deny", "what": {"tools": [it]},
                "when": format!("tool == \"{CANONICAL}\"")});
            json!({"policy": {"rules": [rule], "approvals": {"wait": 50}}})
        },
        refusal: "may not be called",
        passing: 0,
    },
    Policy {
        name: "rate limit",
        config: |it| json!({"limits": {"perTool": {(it): "1/d shared"}}}),
        refusal: "is reached",
        passing: 1,
    },
    Policy {
        name: "daily quota",
        config: |it| json!({"limits": {"daily": {"perTool": {(it): 1}}}}),
        refusal: "is used up",
        passing: 1,
    },
];

fn rule(effect: &str, tool: &str) -> Value {
    let rule = json!({"name": "r", "effect": effect, "what": {"tools": [tool]}});
    json!({"policy": {"rules": [rule], "approvals": {"wait": 50}}})
}

/// A gateway in front of the server `db`, which a profile shows too.
async fn open(name: &str, more: Value) -> UpstreamFixture {
    // The variable that lets all other tests run what destroys something does not count here.
    let mut config = json!({"profiles": {"work": {"servers": ["db"]}}});
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    config["policy"]["trust"] = json!("verified");
    // Clients of sessions here say that their user can be asked, and nobody would answer.
    config["policy"]["approvals"]["elicitation"] = json!(false);
    let is_hidden = config.to_string().contains("\"deny\"");
    let db = scripted(&["contract"], json!({"prefix": "base"}));
    let mut fixture = UpstreamFixture::open_with(name, config, json!({"db": db})).await;
    soon("the tool", async { while !endpoint::is_known(&mut fixture, is_hidden).await {} }).await;
    fixture
}

#[tokio::test]
async fn every_policy_holds_at_every_endpoint() {
    for (number, policy) in POLICIES.iter().enumerate() {
        for (pattern_number, pattern) in PATTERNS.iter().enumerate() {
            let name = format!("names-{number}-{pattern_number}");
            let mut fixture = open(&name, (policy.config)(pattern)).await;
            for _ in 0..policy.passing {
                Endpoint::Main.call(&mut fixture).await.expect(policy.name);
            }
            for endpoint in Endpoint::ALL {
                let refused = endpoint.call(&mut fixture).await;
                let case = format!("{} on `{pattern}` at {endpoint:?}", policy.name);
                let text = refused.expect_err(&case);
                assert!(text.contains(policy.refusal), "{case}: {text}");
            }
            fixture.close().await;
        }
    }
}

#[tokio::test]
async fn distrust_holds_at_every_endpoint() {
    for (number, name) in [CANONICAL, "db/table.drop", SHOWN, CONTRACT].into_iter().enumerate() {
        let mut fixture = open(&format!("names-trust-{number}"), json!({})).await;
        decide(&fixture, name, "untrusted").await;
        for endpoint in Endpoint::ALL {
            let refused = endpoint.call(&mut fixture).await;
            let case = format!("`{name}` at {endpoint:?}");
            let text = refused.expect_err(&case);
            assert!(text.contains("it is untrusted"), "{case}: {text}");
        }
        fixture.close().await;
    }
}

#[tokio::test]
async fn pins_hold_at_every_endpoint() {
    let mut fixture = open("names-pins", json!({})).await;
    fixture.save(json!({"pins": "locked", "policy": {"trust": "verified"}, "profiles": {"work": {"servers": ["db"]}},
        "limits": {"default": "off"},
        "mcpServers": {"db": scripted(&["contract"], json!({"prefix": "base"}))}}));
    let hidden = async { while !fixture.tools("base").await.is_empty() {} };
    soon("the lock", hidden).await;
    for endpoint in Endpoint::ALL {
        let text = endpoint.call(&mut fixture).await.expect_err("it is held back");
        let advice = format!("`gantry tools pin {CANONICAL}` accepts it");
        assert!(text.contains(&advice), "at {endpoint:?}: {text}");
    }
    fixture.close().await;
}

#[tokio::test]
async fn token_scopes_mean_the_same_at_every_endpoint() {
    let mut fixture = open("names-scopes", json!({"auth": "token"})).await;
    // The endpoint's own name is the server's choice, and no token is good for what it chooses.
    let scopes = [
        (CANONICAL, true),
        (SHOWN, true),
        ("base_*", true),
        ("db/*", true),
        ("db/table.drop", true),
        ("table.drop", false),
        ("table_drop", false),
        (CONTRACT, false),
        ("work/*", false),
        ("other_*", false),
    ];
    for (number, (scope, is_allowed)) in scopes.into_iter().enumerate() {
        let token = token(&fixture, &format!("t{number}"), scope).await;
        for endpoint in Endpoint::HTTP {
            let outcome = endpoint.call_by(&mut fixture, &token).await;
            assert_eq!(outcome.is_ok(), is_allowed, "`{scope}` at {endpoint:?}: {outcome:?}");
        }
    }
    fixture.close().await;
}

#[tokio::test]
async fn one_search_of_the_audit_log_finds_every_call() {
    let limits = json!({"limits": {"perPrincipal": {"*": format!("{}/d", Endpoint::ALL.len())}}});
    let mut fixture = open("names-audit", limits).await;
    for endpoint in Endpoint::ALL {
        endpoint.call(&mut fixture).await.unwrap_or_else(|text| panic!("{endpoint:?}: {text}"));
    }
    // One more is refused before its target is resolved, and is recorded under the same name.
    Endpoint::Alone.call(&mut fixture).await.expect_err("the limit is reached");
    let bench = Bench { folder: fixture.bench.folder.clone() };
    fixture.bench.folder = std::path::PathBuf::new();
    fixture.close().await;
    let mut search = command(program());
    search.args(["audit", "search", "--json", "--tool", CANONICAL]);
    search.env("XDG_STATE_HOME", &bench.folder).current_dir(&bench.folder);
    let found = finish(&mut search).await;
    let records: Vec<Value> =
        found.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records.len(), Endpoint::ALL.len() + 1, "{found}");
    for record in &records {
        assert_eq!((&record["tool"], &record["server"]), (&json!(CANONICAL), &json!("db")));
    }
    let requested = |it: &str| records.iter().filter(|record| record["requested"] == *it).count();
    // The refused one was at the server's own endpoint too.
    let alone = Endpoint::ALL.iter().filter_map(|it| it.requested()).count() + 1;
    assert_eq!(requested("table_drop"), alone, "{found}");
    assert_eq!(records.iter().filter(|it| !it["requested"].is_null()).count(), alone, "{found}");
}

#[tokio::test]
async fn conditions_and_approvals_see_arguments_with_defaults() {
    let forced = json!({"name": "r", "effect": "deny", "what": {"tools": [CANONICAL]},
        "when": "has(args.force) && args.force"});
    let mut fixture = open("names-defaults", json!({"policy": {"rules": [forced]}})).await;
    for endpoint in Endpoint::ALL {
        let text = endpoint.call(&mut fixture).await.expect_err("the default is `true`");
        assert!(text.contains("may not be called"), "at {endpoint:?}: {text}");
        let passed = endpoint.call_with(&mut fixture, json!({"force": false})).await;
        let passed = passed.unwrap_or_else(|text| panic!("at {endpoint:?}: {text}"));
        assert!(passed.contains("force"), "at {endpoint:?}: {passed}");
    }
    fixture.close().await;
    let policy = json!({"policy": {"approve": [CANONICAL], "approvals": {"wait": 50}}});
    let mut fixture = open("names-shown", policy).await;
    Endpoint::Alone.call(&mut fixture).await.expect_err("nobody approves it");
    let past = fixture.admin("GET", "/api/approvals").await.to_string();
    assert!(past.contains(r#""arguments":{"force":true}"#), "{past}");
    assert!(past.contains(&format!(r#""tool":"{CANONICAL}""#)), "{past}");
    fixture.close().await;
    // What is forwarded is what the client sent: the default is the server's to fill in.
    let mut fixture = open("names-forwarded", json!({})).await;
    assert_eq!(Endpoint::Main.call(&mut fixture).await.as_deref(), Ok("{}"));
    fixture.close().await;
}

/// Decides how far a tool is trusted, over the administration.
async fn decide(fixture: &UpstreamFixture, subject: &str, level: &str) {
    let token =
        fs::read_to_string(fixture.bench.folder.join("gantry/admin-token")).expect("a token");
    let headers = vec![
        ("Host".to_owned(), fixture.address.to_string()),
        ("Authorization".to_owned(), format!("Bearer {token}")),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ];
    let body = json!({"subject": subject, "level": level}).to_string().into_bytes();
    let (method, path) = ("POST".to_owned(), "/api/trust".to_owned());
    let answer = Outgoing { method, path, headers, body }.send(fixture.address).await;
    assert_eq!(answer.status, 200, "the decision about {subject}");
}

/// Makes a token that is good for this.
async fn token(fixture: &UpstreamFixture, name: &str, allow: &str) -> String {
    let mut create = command(program());
    create.args(["token", "create", "--json", "--name", name, "--allow", allow]);
    create.env("XDG_STATE_HOME", &fixture.bench.folder).current_dir(&fixture.bench.folder);
    let made: Value = serde_json::from_str(&finish(&mut create).await).expect("JSON");
    made["token"].as_str().expect("a token").to_owned()
}
