//! What rules decide, what is seen, and that an explanation says the same as the decision.

mod agreement;
mod cost;
mod gateway;
mod sights;

use std::sync::Arc;

use gantry_gateway::{
    Caller, Origin, PromptEntry, ResourceEntry, Scope, Target, TemplateEntry, ToolEntry,
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

/// A tool of a server, or of none; it only looks if its name says `get`.
fn tool(server: &str, name: &str) -> Target {
    let hint = if name.contains("get") { r#"{"readOnlyHint":true}"# } else { "{}" };
    let text =
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{hint}}}"#);
    let mut entry = ToolEntry::new(json(&text)).expect(name);
    entry.origin = origin(server);
    Target::Tool(Arc::new(entry))
}

fn prompt(server: &str, name: &str) -> Target {
    let entry = PromptEntry::new(json(&format!(r#"{{"name":"{name}"}}"#))).expect(name);
    Target::Prompt(Arc::new(PromptEntry { origin: origin(server), ..entry }))
}

fn resource(server: &str, uri: &str) -> Target {
    let entry = ResourceEntry::new(json(&format!(r#"{{"uri":"{uri}","name":"r"}}"#))).expect(uri);
    Target::Resource(Arc::new(ResourceEntry { origin: origin(server), ..entry }))
}

fn template(text: &str, uri: &str) -> Target {
    let definition = json(&format!(r#"{{"uriTemplate":"{text}","name":"t"}}"#));
    Target::Template(Arc::new(TemplateEntry::new(definition).expect(text)), uri.to_owned())
}

fn caller(principal: &str) -> Caller {
    Caller::new(principal)
}

fn at_face(face: &str) -> Caller {
    Caller { face: Some(face.into()), ..caller("ann") }
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
    RuleSet::new(rules, default_allows, Prefixes::new([("gitlab".to_owned(), "gl".to_owned())]))
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
            Ruling::Unopposed => (true, false),
            Ruling::Default | Ruling::Scope => (false, false),
            Ruling::By(compiled) => (compiled.rule.effect != Deny, compiled.rule.effect == Approve),
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
    let who = |principals: &[&str], clients: &[&str], faces: &[&str]| Rule {
        who: Who { principals: texts(principals), clients: texts(clients), faces: texts(faces) },
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
        (who(&[], &[], &["work"]), at_face("work"), &plain, "deny"),
        (who(&[], &[], &["work"]), caller("ann"), &plain, "allow"),
        (who(&[], &[], &["*"]), caller("ann"), &plain, "deny"),
        (who(&["ann"], &["x"], &[]), caller("ann"), &plain, "allow"),
        (what(&["github"], &[], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&["github"], &[], &[], &[]), caller("ann"), &plain, "allow"),
        (what(&["git*"], &["get_*"], &[], &[]), caller("ann"), &hub, "deny"),
        (what(&[], &["get_*"], &[], &[]), caller("ann"), &hub, "allow"),
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
        (at_face("github"), tool("github", "drop")),
        (at_face("work"), tool("github", "github_drop")),
    ];
    for pattern in ["github_drop", "github/drop", "github_*", "github/*", "*/drop"] {
        let rules = set(vec![rule(Deny, &[], &[pattern])], true);
        for (caller, target) in &ways {
            assert_eq!(decide(&rules, caller, target, "{}"), "deny", "{pattern} {caller:?}");
        }
    }
    // Nor does a server take another one's name, or that of a tool of ours.
    let allowed = [
        ("drop", tool("github", "drop"), "deny"),
        ("other/drop", tool("github", "other/drop"), "deny"),
        ("gl_drop", tool("gitlab", "drop"), "allow"),
    ];
    for (pattern, target, expected) in allowed {
        let rules = set(vec![rule(Allow, &[], &[pattern])], false);
        let face = at_face(&target.origin().expect("a server").server);
        assert_eq!(decide(&rules, &face, &target, "{}"), expected, "{pattern}");
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
