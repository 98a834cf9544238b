//! What one may not call one does not see.

use std::collections::HashSet;

use super::*;

fn sees(rules: &Rules, caller: &Caller, target: &Target) -> bool {
    rules.view(caller).is_none_or(|view| (view.sees)(target))
}

#[test]
fn what_is_refused_whatever_the_arguments_is_not_seen() {
    let target = tool("", "get_it");
    let cases = [
        (vec![], true, true),
        (vec![], false, false),
        (vec![rule(Deny, &[], &["get_*"])], true, false),
        (vec![rule(Deny, &["bob"], &["get_*"])], true, true),
        (vec![rule(Allow, &[], &["get_*"])], false, true),
        (vec![rule(Approve, &[], &["get_*"])], false, true),
        (vec![Rule { shadow: true, ..rule(Deny, &[], &[]) }], true, true),
        (vec![when("args.n > 1", rule(Deny, &[], &[]))], true, true),
        (vec![when("args.n > 1", rule(Allow, &[], &[]))], false, true),
        (vec![when("args.n > 1", rule(Allow, &[], &[])), rule(Deny, &[], &[])], true, true),
        (vec![when("args.n > 1", rule(Deny, &[], &[])), rule(Deny, &[], &[])], true, false),
        (vec![when("principal == 'ann'", rule(Deny, &[], &[]))], true, false),
        (vec![when("principal == 'bob'", rule(Deny, &[], &[]))], true, true),
        (vec![when("annotations.nothing", rule(Deny, &[], &[]))], true, false),
        (vec![when("annotations.nothing", rule(Allow, &[], &[]))], false, false),
        (vec![when("method == 'tools/call'", rule(Allow, &[], &[]))], false, true),
    ];
    for (rules, default, expected) in cases {
        let text = format!("{rules:?}");
        let rules = Rules::new(set(rules, default));
        assert_eq!(sees(&rules, &caller("ann"), &target), expected, "{text}");
    }
}

#[test]
fn a_template_is_seen_if_some_of_it_may_be_read() {
    let about = |effect, pattern: &str| Rule {
        what: What { resources: texts(&[pattern]), ..What::default() },
        ..Rule::new("r", effect)
    };
    let listed = template("file:///{+path}", "file:///{+path}");
    let cases = [
        (about(Allow, "file:///public/*"), false, true),
        (about(Allow, "http://*"), false, false),
        (about(Allow, "file:///{+path}"), false, true),
        (about(Deny, "file:///secret/*"), true, true),
        (about(Deny, "file://*"), true, false),
        (about(Deny, "*"), true, false),
        (about(Deny, "*.key"), true, true),
    ];
    for (rule, default, expected) in cases {
        let text = format!("{rule:?}");
        let rules = Rules::new(set(vec![rule], default));
        assert_eq!(sees(&rules, &caller("ann"), &listed), expected, "{text}");
    }
    let rules = Rules::new(set(vec![], true));
    for (scope, expected) in [("file:///public/*", true), ("http://*", false)] {
        assert_eq!(sees(&rules, &scoped(&[scope]), &listed), expected, "{scope}");
    }
}

#[test]
fn those_who_see_the_same_share_a_key() {
    let key = |rules: &Rules, caller: &Caller| rules.view(caller).map(|view| view.key);
    let rules = Rules::new(set(vec![rule(Deny, &["a*"], &["x"]), rule(Deny, &[], &["y"])], true));
    let (ann, amy, bob) = (caller("ann"), caller("amy"), caller("bob"));
    assert_eq!(key(&rules, &ann), key(&rules, &amy));
    assert_ne!(key(&rules, &ann), key(&rules, &bob));
    let narrow = scoped(&["x"]);
    assert_ne!(key(&rules, &ann), key(&rules, &narrow));
    assert_ne!(key(&rules, &narrow), key(&rules, &scoped(&["y"])));
    let before = key(&rules, &ann);
    rules.put(set(vec![rule(Deny, &["a*"], &["x"]), rule(Deny, &[], &["y"])], true));
    assert_ne!(key(&rules, &ann), before, "what is new may show something else");
    rules.put(set(vec![when("principal == 'ann'", rule(Deny, &[], &["x"]))], true));
    assert_ne!(key(&rules, &ann), key(&rules, &amy));
    rules.put(set(vec![], true));
    assert_eq!(key(&rules, &ann), None, "nothing is hidden from anyone");
    assert!(key(&rules, &narrow).is_some());
}

#[test]
fn each_half_of_a_key_tells_views_apart_by_itself() {
    let rules = Rules::new(set(vec![rule(Deny, &[], &["y"])], true));
    let keys: Vec<u128> = (0..100)
        .filter_map(|number| rules.view(&scoped(&[&format!("x{number}")])))
        .map(|view| view.key)
        .collect();
    let halves = [|key: &u128| key >> 64, |key: &u128| key & u128::from(u64::MAX)];
    for (which, half) in halves.iter().enumerate() {
        let different: HashSet<u128> = keys.iter().map(half).collect();
        assert_eq!(different.len(), 100, "half {which}");
    }
    assert!(keys.iter().all(|key| halves[0](key) != halves[1](key)), "the halves are two hashes");
}
