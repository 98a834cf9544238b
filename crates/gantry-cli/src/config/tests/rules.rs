//! The rules of a configuration, with their places, and what is wrong with some.

use gantry_policy::RuleEffect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::config::tests::parse;

#[test]
fn a_rule_is_read_with_its_place() {
    let config = parse(
        r#"{"policy": {"default": "deny", "rules": [
            {"effect": "allow", "who": {"principals": "ann"}},
            {"name": "no writes", "effect": "deny",
             "what": {"servers": ["git*"], "tools": ["put_*", "drop"]},
             "annotations": {"destructive": true}, "when": "args.n > 1", "shadow": true},
        ]}}"#,
    )
    .expect("it is right");
    let policy = &config.policy;
    assert_eq!(policy.default_allows, Some(false));
    let [first, second] = policy.rules.as_slice() else { panic!("two rules: {policy:?}") };
    assert_eq!((&*first.name, first.place.as_deref()), ("rule 1", Some("g.json:2")));
    assert_eq!((first.effect, first.shadow), (RuleEffect::Allow, false));
    assert_eq!(first.who.principals, ["ann"]);
    assert_eq!((&*second.name, second.place.as_deref()), ("no writes", Some("g.json:3")));
    assert_eq!(second.what.tools, ["put_*", "drop"]);
    assert_eq!(second.annotations.destructive, Some(true));
    assert_eq!(second.when.as_ref().map(|it| it.text()), Some("args.n > 1"));
    assert!(second.shadow && !second.annotations.is_empty());
    let shown = config.to_json();
    assert!(
        shown.at(&["policy", "default"]).is_some_and(|it| it.as_str() == "\"deny\""),
        "{shown}"
    );
}

#[test]
fn mistakes_have_their_place() {
    let rule = |text: &str| format!("{{\"policy\": {{\"rules\": [\n{text}]}}}}");
    let cases = [
        ("{\"policy\": 1}".to_owned(), "/etc/g.json:1:12: `policy` has the wrong form"),
        (
            "{\"policy\": {\"rule\": []}}".to_owned(),
            "/etc/g.json:1:13: unknown key `rule`; write `rules`",
        ),
        (
            "{\"policy\": {\"default\": \"no\"}}".to_owned(),
            "/etc/g.json:1:24: `default` has the wrong form; write \"allow\"",
        ),
        (
            "{\"policy\": {\"rules\": 1}}".to_owned(),
            "/etc/g.json:1:22: `rules` has the wrong form; write a list of rules",
        ),
        (rule("1"), "/etc/g.json:2:1: `rules` has the wrong form"),
        (rule("{}"), "/etc/g.json:2:1: `effect` has the wrong form; write \"allow\""),
        (rule("{\"effect\": \"forbid\"}"), "/etc/g.json:2:12: `effect` has the wrong form"),
        (rule("{\"efect\": \"deny\"}"), "/etc/g.json:2:2: unknown key `efect`; write `effect`"),
        (
            rule("{\"effect\": \"deny\", \"who\": {\"principal\": [\"a\"]}}"),
            "/etc/g.json:2:28: unknown key `principal`; write `principals`",
        ),
        (
            rule("{\"effect\": \"deny\", \"what\": {\"tool\": [\"a\"]}}"),
            "/etc/g.json:2:29: unknown key `tool`; write `tools`",
        ),
        (
            rule("{\"effect\": \"deny\", \"what\": {\"tools\": []}}"),
            "/etc/g.json:2:38: `tools` has the wrong form; write a pattern",
        ),
        (
            rule("{\"effect\": \"deny\", \"what\": {\"tools\": [1]}}"),
            "/etc/g.json:2:38: `tools` has the wrong form",
        ),
        (
            rule("{\"effect\": \"deny\", \"what\": []}"),
            "/etc/g.json:2:28: `what` has the wrong form",
        ),
        (
            rule("{\"effect\": \"deny\", \"annotations\": {\"readOnly\": 1}}"),
            "/etc/g.json:2:48: `readOnly` has the wrong form; write true",
        ),
        (
            rule("{\"effect\": \"deny\", \"shadow\": 1}"),
            "/etc/g.json:2:30: `shadow` has the wrong form",
        ),
        (
            rule("{\"effect\": \"deny\",\n \"when\": \"args.\"}"),
            "/etc/g.json:3:10: the condition is not valid CEL",
        ),
        (
            rule("{\"effect\": \"deny\",\n \"when\": \"arg.x\"}"),
            "/etc/g.json:3:10: the condition names `arg`; it can use principal",
        ),
        (
            rule(
                "{\"name\": \"a\", \"effect\": \"deny\"},\n{\"name\": \"a\", \"effect\": \"allow\"}",
            ),
            "/etc/g.json:3:1: the key `a` is given twice",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(&text).expect_err(&text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn a_letter_that_looks_like_another_is_told() {
    // The second letter of the tool is Cyrillic.
    let text = "{\"policy\": {\"rules\": [{\"effect\": \"deny\", \"what\": {\"tools\": [\"d\u{435}lete\"]}}]}}";
    let config = parse(text).expect("it can be used");
    let [warning] = config.warnings.as_slice() else {
        panic!("one warning: {:?}", config.warnings)
    };
    assert!(warning.starts_with("g.json:1: `d\u{435}lete` of the rule `rule 1`"), "{warning}");
}

/// Words that mean something somewhere in the section, and some that mean nothing.
const WORDS: [&str; 22] = [
    "rules",
    "default",
    "trust",
    "approve",
    "approvals",
    "destructive",
    "readOnly",
    "name",
    "effect",
    "who",
    "what",
    "annotations",
    "when",
    "shadow",
    "principals",
    "tools",
    "deny",
    "allow",
    "*",
    "${SET",
    "args.a == 1 && has(args.b)",
    "[[[[(((",
];

fn section() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(&WORDS[..]);
    let leaf = prop_oneof![
        word().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let members = prop::collection::btree_map(word(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|it| it
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// A rule in order, with one member changed for anything.
fn rule() -> impl Strategy<Value = Value> {
    let keys = vec!["name", "effect", "who", "what", "annotations", "when", "shadow", "other"];
    (prop::sample::select(keys), section()).prop_map(|(key, value)| {
        let mut rule = json!({"name": "a", "effect": "deny", "what": {"tools": ["*"]}});
        rule[key] = value;
        rule
    })
}

proptest! {
    /// What is wrong is told with its place; what is taken can be put in force, shown, and read again.
    #[test]
    fn no_section_is_too_odd(section in prop_oneof![
        section(),
        (prop::collection::vec(rule(), 0..3), prop::sample::select(vec!["allow", "deny", "no"]))
            .prop_map(|(rules, default)| json!({"rules": rules, "default": default})),
    ]) {
        match parse(&json!({"policy": section}).to_string()) {
            Err(error) => prop_assert!(error.starts_with("/etc/g.json:1:"), "{}", error),
            Ok(config) => {
                let _ = config.policy.rule_set();
                let again = parse(config.to_json().as_str());
                let again = again.map(|it| it.policy.differs(&config.policy));
                prop_assert_eq!(again, Ok(false));
            }
        }
    }
}
