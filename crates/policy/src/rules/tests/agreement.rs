//! The fast way, the explanation and what is seen agree, whatever the rules.

use proptest::prelude::*;

use super::*;

fn effects() -> impl Strategy<Value = RuleEffect> {
    prop::sample::select(vec![Allow, Deny, Approve])
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let pick = prop::sample::select(of.to_vec()).prop_map(str::to_owned);
    prop::collection::vec(pick, 0..2)
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let who = (some(&["ann", "b*"]), some(&["editor"]), some(&["work", "github", "*"]));
    let what = (
        some(&["github", "x*"]),
        some(&["*", "github_get", "github/get", "put*"]),
        some(&["file:///*", "*a"]),
        some(&["p"]),
    );
    let conditions =
        ["true", "args.n > 1", "principal == 'ann'", "annotations.missing", "server == ''"];
    let condition = prop::option::weighted(0.3, prop::sample::select(conditions.to_vec()));
    let marks = prop::option::weighted(0.2, any::<bool>());
    let rule = (effects(), who, what, condition, marks, prop::bool::weighted(0.1)).prop_map(
        |(effect, who, what, condition, read_only, shadow)| {
            let (principals, clients, virtual_servers) = who;
            let (servers, tools, resources, prompts) = what;
            let rule = Rule {
                who: Who { principals, clients, virtual_servers },
                what: What { servers, tools, resources, prompts },
                annotations: Annotations { read_only, destructive: None },
                shadow,
                ..Rule::new("r", effect)
            };
            condition.map_or(rule.clone(), |condition| when(condition, rule))
        },
    );
    prop::collection::vec(rule, 0..6)
}

proptest! {
    #[test]
    fn all_ways_agree(rules in rules(), default in any::<bool>()) {
        let rules = Rules::new(set(rules, default));
        let set = rules.current();
        let callers = [
            caller("ann"), caller("bob"), named("editor"), at_virtual_server("work"), at_virtual_server("github"),
            scoped(&["github/*", "file:///*"]),
        ];
        let targets = [
            tool("github", "github_get"), tool("", "put_it"), prompt("x", "x_p"),
            resource("", "file:///a"), template("file:///{+p}", "file:///b"),
        ];
        for caller in &callers {
            for target in &targets {
                for arguments in ["{}", r#"{"n":2}"#, r#"{"n":0}"#] {
                    let decided = decide(&set, caller, target, arguments);
                    let seen = rules.view(caller).is_none_or(|view| (view.sees)(target));
                    prop_assert!(decided == "deny" || seen, "{} is allowed but not seen", target.name());
                }
            }
        }
    }
}
