//! What rules decide, what is seen, and that an explanation says the same as the decision.

mod agreement;
mod cost;
mod gateway;
mod visibility_filters;

use std::sync::Arc;

use gantry_gateway::{
    AddressAlias, Caller, CanonicalName, Origin, PromptEntry, ResourceEntry, Scope, Target,
    TemplateEntry, ToolEntry, UpstreamDefinition,
};
use gantry_protocol::{Method, RawJson};

use super::rule::RuleEffect::{Allow, Approve, Deny};
use super::*;

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), Default::default()).expect(text)
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn origin(server: &str) -> Option<Arc<Origin>> {
    let of = |server: &str| Arc::new(Origin { server: server.into(), identity: "x".into() });
    (!server.is_empty()).then(|| of(server))
}

/// What the names of a server's tools begin with.
fn prefix(server: &str) -> &str {
    if server == "gitlab" { "gl" } else { server }
}

/// What a server calls a thing that is listed under this name.
fn own(server: &str, name: &str, definition: &RawJson) -> Arc<UpstreamDefinition> {
    let own = name.strip_prefix(prefix(server)).and_then(|rest| rest.strip_prefix('_'));
    Arc::new(UpstreamDefinition {
        name: own.unwrap_or(name).to_owned(),
        definition: definition.clone(),
    })
}

/// A tool of a server, or of none, in the list of all servers; it only looks if its name says `get`.
fn tool(server: &str, name: &str) -> Target {
    Target::Tool(Arc::new(entry(server, name)))
}

/// A tool of a server at the server's own endpoint, which shows it under the server's own name.
fn alone(server: &str, name: &str) -> Target {
    let canonical = format!("{}_{}", prefix(server), name.replace('/', "_"));
    let mut entry = entry(server, name);
    entry.own = Arc::new(UpstreamDefinition {
        name: name.to_owned(),
        definition: entry.definition.clone(),
    });
    let name = canonical.as_str().into();
    entry.canonical = Some(Arc::new(CanonicalName { name, full: None, is_contested: false }));
    Target::Tool(Arc::new(entry))
}

fn entry(server: &str, name: &str) -> ToolEntry {
    let hint = if name.contains("get") { r#"{"readOnlyHint":true}"# } else { "{}" };
    let text =
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{hint}}}"#);
    let mut entry = ToolEntry::new(json(&text)).expect(name);
    entry.origin = origin(server);
    entry.own = own(server, name, &entry.definition);
    entry
}

fn prompt(server: &str, name: &str) -> Target {
    let entry = PromptEntry::new(json(&format!(r#"{{"name":"{name}"}}"#))).expect(name);
    let own = own(server, name, &entry.definition);
    Target::Prompt(Arc::new(PromptEntry { origin: origin(server), own, ..entry }))
}

fn resource(server: &str, uri: &str) -> Target {
    let entry = ResourceEntry::new(json(&format!(r#"{{"uri":"{uri}","name":"r"}}"#))).expect(uri);
    let prefix = format!("gantry://{server}/");
    let alias = uri.starts_with(&prefix).then(|| prefix.as_str().into());
    let alias = alias.map(|prefix| AddressAlias { prefix, is_shown: true });
    Target::Resource(Arc::new(ResourceEntry { origin: origin(server), alias, ..entry }))
}

fn template(text: &str, uri: &str) -> Target {
    let definition = json(&format!(r#"{{"uriTemplate":"{text}","name":"t"}}"#));
    Target::Template(Arc::new(TemplateEntry::new(definition).expect(text)), uri.to_owned())
}

fn caller(principal: &str) -> Caller {
    Caller::new(principal)
}

fn at_virtual_server(virtual_server: &str) -> Caller {
    Caller { virtual_server: Some(virtual_server.into()), ..caller("ann") }
}

fn scoped(allow: &[&str]) -> Caller {
    Caller { scope: Some(Arc::new(Scope { allow: texts(allow) })), ..caller("ann") }
}

fn named(client: &str) -> Caller {
    Caller { client_info: Some(json(&format!(r#"{{"name":"{client}"}}"#))), ..caller("ann") }
}

/// A rule about tools.
fn rule(effect: RuleEffect, principals: &[&str], tools: &[&str]) -> Rule {
    let name = format!("{effect} {principals:?} {tools:?}");
    Rule {
        who: Who { principals: texts(principals), ..Who::default() },
        what: What { tools: texts(tools), ..What::default() },
        ..Rule::new(&name, effect)
    }
}

fn when(text: &str, rule: Rule) -> Rule {
    let condition = Condition::new(text, ConditionBounds::default()).expect(text);
    Rule { when: Some(Arc::new(condition)), ..rule }
}

fn set(rules: Vec<Rule>, default_allows: bool) -> RuleSet {
    RuleSet::new(rules, default_allows)
}

/// `allow`, `deny` or `approve`. Holds the explanation to the decision.
fn decide(set: &RuleSet, caller: &Caller, target: &Target, arguments: &str) -> &'static str {
    let arguments = json(arguments);
    let method = match target {
        Target::Tool(_) => Method::ToolsCall,
        Target::Prompt(_) => Method::PromptsGet,
        Target::Resource(_) | Target::Template(..) => Method::ResourcesRead,
    };
    let (allowed, needs_approval) =
        match set.rule(caller, target, &method, Some(&arguments), |_| ()) {
            RuleDecision::Unopposed => (true, false),
            RuleDecision::Default | RuleDecision::Scope => (false, false),
            RuleDecision::By(compiled) => {
                (compiled.rule.effect != Deny, compiled.rule.effect == Approve)
            }
        };
    let explained = set.explain(caller, target, &method, Some(&arguments));
    assert_eq!(
        (explained.allowed, explained.needs_approval),
        (allowed, needs_approval),
        "{explained:?}"
    );
    match (allowed, needs_approval) {
        (_, true) => "approve",
        (true, _) => "allow",
        (false, _) => "deny",
    }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let cases: [(Vec<Rule>, bool, &str); 9] = [
        (vec![], true, "allow"),
        (vec![], false, "deny"),
        (vec![rule(Deny, &[], &[])], true, "deny"),
        (vec![rule(Allow, &[], &[]), rule(Deny, &[], &[])], false, "allow"),
        (vec![rule(Approve, &[], &[])], false, "approve"),
        (vec![rule(Deny, &["bob"], &[]), rule(Allow, &["ann"], &[])], false, "allow"),
        (vec![rule(Deny, &[], &["other"]), rule(Approve, &["a*"], &["get_*"])], true, "approve"),
        (vec![Rule { shadow: true, ..rule(Deny, &[], &[]) }], true, "allow"),
        (vec![Rule { shadow: true, ..rule(Allow, &[], &[]) }, rule(Deny, &[], &[])], true, "deny"),
    ];
    for (rules, default, expected) in cases {
        let text = format!("{rules:?}");
        let found = decide(&set(rules, default), &caller("ann"), &tool("", "get_it"), "{}");
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn who_and_what_are_patterns() {
    let who = |principals: &[&str], clients: &[&str], virtual_servers: &[&str]| Rule {
        who: Who {
            principals: texts(principals),
            clients: texts(clients),
            virtual_servers: texts(virtual_servers),
        },
        ..Rule::new("who", Deny)
    };
    let what = |servers: &[&str], tools: &[&str], resources: &[&str], prompts: &[&str]| Rule {
        what: What {
            servers: texts(servers),
            tools: texts(tools),
            resources: texts(resources),
            prompts: texts(prompts),
        },
        ..Rule::new("what", Deny)
    };
    let (plain, hub) = (tool("", "get_it"), tool("github", "github_get_it"));
    let cases = [
        (who(&["ann"], &[], &[]), caller("ann"), &plain, "deny"),
        (who(&["ann"], &[], &[]), caller("Ann"), &plain, "allow"),
        (who(&["a*"], &[], &[]), caller("ann"), &plain, "deny"),
        (who(&[], &["edit*"], &[]), named("editor"), &plain, "deny"),
        (who(&[], &["edit*"], &[]), caller("ann"), &plain, "allow"),
        (who(&[], &[], &["work"]), at_virtual_server("work"), &plain, "deny"),
        (who(&[], &[], &["work"]), caller("ann"), &plain, "allow"),
        (who(&[], &[], &["*"]), caller("ann"), &plain, "deny"),
        (who(&["ann"], &["x"], &[]), caller("ann"), &plain, "allow"),
        (what(&["github"], &[], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&["github"], &[], &[], &[]), caller("ann"), &plain, "allow"),
        (what(&["git*"], &["get_*"], &[], &[]), caller("ann"), &hub, "deny"),
        // What the server calls it is one of its names.
        (what(&[], &["get_*"], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&[], &["github_get_it"], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&[], &["github/get_*"], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&[], &["*/get_*"], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&[], &["gitlab/*"], &[], &[]), caller("ann"), &hub, "allow"),
        (what(&[], &["Github_Get_it"], &[], &[]), caller("ann"), &hub, "allow"),
        (what(&[], &["*"], &[], &[]), caller("ann"), &prompt("", "p"), "allow"),
        (what(&[], &[], &[], &["p"]), caller("ann"), &prompt("", "p"), "deny"),
        (what(&[], &[], &["file:///*"], &[]), caller("ann"), &resource("", "file:///a"), "deny"),
        (what(&[], &["math/add"], &[], &[]), caller("ann"), &tool("", "math/add"), "deny"),
    ];
    for (rule, caller, target, expected) in cases {
        let text = format!("{rule:?} for {caller:?} and {}", target.name());
        assert_eq!(decide(&set(vec![rule], true), &caller, target, "{}"), expected, "{text}");
    }
}

#[test]
fn no_way_leads_around_a_name() {
    // The tool among all, at the face of its server, and at a profile, which has the names of all.
    let ways = [
        (caller("ann"), tool("github", "github_drop")),
        (at_virtual_server("github"), alone("github", "drop")),
        (at_virtual_server("work"), tool("github", "github_drop")),
    ];
    for pattern in ["github_drop", "github/drop", "github_*", "github/*", "*/drop", "drop"] {
        let rules = set(vec![rule(Deny, &[], &[pattern])], true);
        for (caller, target) in &ways {
            assert_eq!(decide(&rules, caller, target, "{}"), "deny", "{pattern} {caller:?}");
        }
    }
    // Nor does a server take another one's name, or that of a tool of ours.
    let allowed = [
        ("drop", alone("github", "drop"), "deny"),
        ("other/drop", alone("github", "other/drop"), "deny"),
        ("gitlab_drop", alone("github", "gitlab_drop"), "deny"),
        ("gl_drop", alone("gitlab", "drop"), "allow"),
        ("gitlab/drop", alone("gitlab", "drop"), "allow"),
    ];
    for (pattern, target, expected) in allowed {
        let rules = set(vec![rule(Allow, &[], &[pattern])], false);
        let virtual_server = at_virtual_server(&target.origin().expect("a server").server);
        assert_eq!(decide(&rules, &virtual_server, &target, "{}"), expected, "{pattern}");
    }
    // An address that was made because two servers have it is still that address.
    let secret = Rule {
        what: What { resources: texts(&["file:///secret*"]), ..What::default() },
        ..Rule::new("secret", Deny)
    };
    let rules = set(vec![secret], true);
    for uri in ["file:///secret/a", "gantry://b/file:///secret/a"] {
        assert_eq!(decide(&rules, &caller("ann"), &resource("b", uri), "{}"), "deny", "{uri}");
    }
}

#[test]
fn a_name_that_a_server_chose_gives_it_nothing() {
    let odd = alone("odd", "drop");
    let cases: [(Vec<Rule>, bool, &str); 7] = [
        (vec![rule(Allow, &[], &["drop"])], false, "deny"),
        (vec![rule(Approve, &[], &["drop"])], true, "approve"),
        (vec![rule(Approve, &[], &["drop"])], false, "deny"),
        (vec![rule(Approve, &[], &["drop"]), rule(Allow, &[], &["odd_*"])], false, "approve"),
        (vec![rule(Approve, &[], &["drop"]), rule(Deny, &[], &["odd_*"])], true, "deny"),
        (vec![rule(Approve, &[], &["odd/drop"]), rule(Deny, &[], &["odd_*"])], true, "approve"),
        (vec![rule(Allow, &[], &["odd_*"]), rule(Approve, &[], &["drop"])], false, "allow"),
    ];
    for (rules, default, expected) in cases {
        let text = format!("{rules:?}");
        for (caller, target) in
            [(at_virtual_server("odd"), &odd), (caller("ann"), &tool("odd", "odd_drop"))]
        {
            assert_eq!(
                decide(&set(rules.clone(), default), &caller, target, "{}"),
                expected,
                "{text}"
            );
        }
    }
    // Nor does a name that begins like those of another server.
    let Target::Tool(entry) = tool("my", "my_db_drop") else { panic!("a tool") };
    let name = CanonicalName { name: "my_db_drop".into(), full: None, is_contested: true };
    let entry = entry.shown_as("my_db_drop", Some(Arc::new(name))).expect("a name");
    let contested = Target::Tool(Arc::new(entry));
    for (effect, pattern, expected) in
        [(Allow, "my_db_*", "deny"), (Allow, "my/db_*", "allow"), (Deny, "my_db_*", "deny")]
    {
        let rules = set(vec![rule(effect, &[], &[pattern])], effect == Deny);
        assert_eq!(decide(&rules, &caller("ann"), &contested, "{}"), expected, "{pattern}");
    }
    let rules = set(vec![], true);
    for (scope, expected) in [("my_db_*", "deny"), ("my/*", "allow"), ("drop", "deny")] {
        assert_eq!(decide(&rules, &scoped(&[scope]), &contested, "{}"), expected, "{scope}");
    }
}

#[test]
fn addresses_are_compared_in_one_form() {
    let about = |effect, pattern: &str| Rule {
        what: What { resources: texts(&[pattern]), ..What::default() },
        ..Rule::new("r", effect)
    };
    // The pattern, the address, whether they fit.
    let cases = [
        ("file:///srv/*", "file:///srv//a", true),
        ("file:///srv/a", "file:///srv/./a", true),
        ("file:///srv/a", "file:///srv/%61", true),
        ("file:///srv//a", "file:///srv/a", true),
        ("file:///srv/%61*", "file:///srv/ab", true),
        ("file:///srv/*", "FILE:///srv/a", true),
        ("file:///srv/*", "file:///srv/../a", false),
        ("file:///srv/*", "file:///srv/%2e%2e/a", false),
        ("file:///srv/*", "file://srv/a", false),
        ("s/file:///srv/*", "file:///srv//a", true),
        ("x:*", "x:%2F", true),
    ];
    for (pattern, uri, fits) in cases {
        let target = resource("s", uri);
        let covered = template("file:///{+path}", uri);
        for target in [&target, &covered] {
            if target.origin().is_none() && pattern.starts_with("s/") {
                continue;
            }
            let found = [Allow, Deny].map(|effect| {
                decide(
                    &set(vec![about(effect, pattern)], effect == Deny),
                    &caller("ann"),
                    target,
                    "{}",
                )
            });
            let expected = if fits { ["allow", "deny"] } else { ["deny", "allow"] };
            assert_eq!(found, expected, "{pattern} for {uri}");
            let scope = decide(&set(vec![], true), &scoped(&[pattern]), target, "{}");
            assert_eq!(scope == "allow", fits, "{pattern} as a scope for {uri}");
        }
    }
    // Conditions see the same form, and the canonical address.
    let denial = when("uri.startsWith('file:///srv/secret/')", Rule::new("r", Deny));
    let rules = set(vec![denial], true);
    for uri in ["file:///srv/secret/a", "file:///srv//secret/a", "file:///srv/%73ecret/a"] {
        assert_eq!(decide(&rules, &caller("ann"), &resource("s", uri), "{}"), "deny", "{uri}");
    }
}

#[test]
fn marks_of_tools() {
    let marked = |read_only, destructive| Rule {
        annotations: Annotations { read_only, destructive },
        ..Rule::new("marked", Deny)
    };
    let (looks, ours, theirs) = (tool("s", "s_get"), tool("", "put"), tool("s", "s_put"));
    let cases = [
        (marked(Some(true), None), ["deny", "allow", "allow"]),
        (marked(Some(false), None), ["allow", "deny", "deny"]),
        // A tool of another server that says nothing may destroy something.
        (marked(None, Some(true)), ["allow", "allow", "deny"]),
        (marked(None, Some(false)), ["deny", "deny", "allow"]),
    ];
    for (rule, expected) in cases {
        let text = format!("{rule:?}");
        let rules = set(vec![rule], true);
        let found = [&looks, &ours, &theirs].map(|it| decide(&rules, &caller("ann"), it, "{}"));
        assert_eq!(found, expected, "{text}");
        assert_eq!(decide(&rules, &caller("ann"), &prompt("s", "p"), "{}"), "allow", "{text}");
    }
}

#[test]
fn conditions_fail_closed() {
    let cases = [
        ("args.n > 1", r#"{"n":2}"#, ["allow", "deny", "approve"]),
        ("args.n > 1", r#"{"n":1}"#, ["deny", "allow", "allow"]),
        ("args.n > 1", "{}", ["deny", "deny", "approve"]),
        ("args.n > 1", r#"{"n":"x"}"#, ["deny", "deny", "approve"]),
        ("args.n > 1", r#"{"n":0,"n":2}"#, ["deny", "deny", "approve"]),
        ("args.n", r#"{"n":1}"#, ["deny", "deny", "approve"]),
    ];
    for (text, arguments, expected) in cases {
        // What no rule is about is the other thing, so that both ends can be told apart.
        let sets = [(Allow, false), (Deny, true), (Approve, true)]
            .map(|(effect, default)| set(vec![when(text, rule(effect, &[], &[]))], default));
        let found = sets.map(|set| decide(&set, &caller("ann"), &tool("", "a"), arguments));
        assert_eq!(found, expected, "{text} with {arguments}");
    }
}

#[test]
fn credentials_come_first() {
    let (hub, plain) = (tool("github", "github_get"), tool("", "math.add"));
    let (file, lab) = (resource("", "file:///a/b"), tool("gitlab", "gl_get"));
    let cases = [
        (scoped(&[]), ["deny", "deny", "deny", "deny"]),
        (scoped(&["*"]), ["allow", "allow", "allow", "allow"]),
        (scoped(&["github/*"]), ["allow", "deny", "deny", "deny"]),
        (scoped(&["github/get"]), ["allow", "deny", "deny", "deny"]),
        (scoped(&["github/put"]), ["deny", "deny", "deny", "deny"]),
        (scoped(&["gitlab/get", "math.*"]), ["deny", "allow", "deny", "allow"]),
        (scoped(&["gl_*"]), ["deny", "deny", "deny", "allow"]),
        (scoped(&["file:///a/*"]), ["deny", "deny", "allow", "deny"]),
        (scoped(&["Github/*"]), ["deny", "deny", "deny", "deny"]),
    ];
    for (caller, expected) in cases {
        for rules in [vec![], vec![rule(Allow, &[], &[])]] {
            let rules = set(rules, true);
            let found = [&hub, &plain, &file, &lab].map(|it| decide(&rules, &caller, it, "{}"));
            assert_eq!(found, expected, "{:?}", caller.scope);
        }
        let denied = set(vec![rule(Deny, &[], &[])], true);
        assert_eq!(decide(&denied, &caller, &hub, "{}"), "deny", "a scope allows nothing");
    }
}

#[test]
fn a_template_is_ruled_by_the_address() {
    let public = Rule {
        what: What { resources: texts(&["file:///public/*"]), ..What::default() },
        ..Rule::new("public", Allow)
    };
    let rules = set(vec![public], false);
    let entry = template("file:///{+path}", "");
    let Target::Template(entry, _) = entry else { panic!("a template") };
    let cases = [
        ("file:///public/a", "allow"),
        ("file:///secret/a", "deny"),
        ("file:///{+path}", "deny"),
        ("file:///public/b", "allow"),
    ];
    for (uri, expected) in cases {
        let target = Target::Template(entry.clone(), uri.to_owned());
        assert_eq!(decide(&rules, &caller("ann"), &target, "{}"), expected, "{uri}");
    }
}

#[test]
fn names_that_differ_in_case_only_are_told() {
    let there = [
        tool("github", "github_getIssue"),
        tool("", "Math.Add"),
        resource("", "file:///Readme"),
        prompt("", "Ask"),
    ];
    let rule = |servers: &[&str], tools: &[&str], resources: &[&str], prompts: &[&str]| Rule {
        place: Some("gantry.json:3".into()),
        what: What {
            servers: texts(servers),
            tools: texts(tools),
            resources: texts(resources),
            prompts: texts(prompts),
        },
        ..Rule::new("r", Deny)
    };
    let cases = [
        (rule(&[], &["github_getIssue", "Math.*"], &[], &["Ask"]), vec![]),
        (rule(&[], &["nothing_like_it"], &[], &[]), vec![]),
        (rule(&[], &["github_getissue"], &[], &[]), vec!["github_getIssue"]),
        (rule(&[], &["github/GETISSUE"], &[], &[]), vec!["github_getIssue"]),
        (rule(&["github"], &["getissue"], &[], &[]), vec!["github_getIssue"]),
        (rule(&["GitHub"], &[], &[], &[]), vec!["github"]),
        (
            rule(&[], &["math.*"], &["file:///README"], &["ask"]),
            vec!["Math.Add", "file:///Readme", "Ask"],
        ),
    ];
    for (rule, expected) in cases {
        let text = format!("{:?}", rule.what);
        let warnings = set(vec![rule], true).lookalikes(&there);
        assert_eq!(warnings.len(), expected.len(), "{text}: {warnings:?}");
        for (warning, name) in warnings.iter().zip(expected) {
            assert!(warning.starts_with("gantry.json:3: `"), "{warning}");
            assert!(warning.contains(&format!("there is `{name}`")), "{warning}");
        }
    }
}

/// Servers look for the same file or host whichever of these they are asked for.
#[test]
fn another_name_of_an_address_escapes_no_restriction() {
    let rule = |effect, pattern: &str| Rule {
        what: What { resources: texts(&[pattern]), ..What::default() },
        ..Rule::new("r", effect)
    };
    let cases = [
        ("file:///srv/plan", "file:///srv/plan#part", "deny"),
        ("file:///srv/plan", "file:///srv/plan?a=b", "deny"),
        ("file:///srv/plan", "file:///srv/plan/", "deny"),
        ("file:///srv/plan", "file:///srv/plan;type=a", "deny"),
        ("file:///srv/plan", "file:///srv/plans", "allow"),
        ("file:///etc/*", "file://localhost/etc/key", "deny"),
        ("file:///etc/*", "file:/etc/key", "deny"),
        ("file:/etc/*", "file:///etc/key", "deny"),
        ("https://Internal.example/*", "https://INTERNAL.example:443/a", "deny"),
        ("https://internal.example/*", "https://internal.example./a", "deny"),
        ("https://internal.example/*", "https://internal.example:8443/a", "allow"),
    ];
    for (pattern, uri, expected) in cases {
        let denying = set(vec![rule(Deny, pattern)], true);
        let covering = template("{+uri}", uri);
        assert_eq!(decide(&denying, &caller("ann"), &covering, "{}"), expected, "{uri}");
        let listed = resource("s", uri);
        assert_eq!(decide(&denying, &caller("ann"), &listed, "{}"), expected, "{uri}");
    }
    // What is left out only restricts.
    let allowing = set(vec![rule(Allow, "file:///srv/plan")], false);
    for (uri, expected) in [("file:///srv/plan", "allow"), ("file:///srv/plan#part", "deny")] {
        assert_eq!(decide(&allowing, &caller("ann"), &template("{+uri}", uri), "{}"), expected);
    }
}

#[test]
fn only_the_local_user_is_told_the_rule() {
    let why = "`a` may not be called: rule `x` denies it";
    for (who, is_told) in [("local", true), ("bob", false), ("", false), ("Local", false)] {
        let error = policy_refusal(&Caller::new(who), "a", why.to_owned());
        assert_eq!(error.public == why, is_told, "{who}");
        assert_eq!(error.private.as_deref(), (!is_told).then_some(why), "{who}");
        assert!(is_told || !error.public.contains('x'), "{who}: {}", error.public);
    }
}
