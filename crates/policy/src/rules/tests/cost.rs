//! What a call costs with many rules and many tools. Prints; there is nothing to fail.

use std::time::Instant;

use super::*;

/// Of a thousand rules most are about other things or other people, and some have conditions.
fn many() -> Vec<Rule> {
    let rule_for = |index: usize| match index % 4 {
        0 => rule(Deny, &[], &[&format!("server{index}_delete_*")]),
        1 => rule(Deny, &[&format!("user{index}")], &[]),
        2 => rule(Allow, &["ann"], &[&format!("server{}/tool{index}", index % 50)]),
        _ => when("args.n > 1000", rule(Approve, &[], &[&format!("*_tool{index}")])),
    };
    (0..1000).map(rule_for).collect()
}

#[test]
fn a_call_costs_little_with_many_rules() {
    let rules = set(many(), true);
    let tools: Vec<Target> = (0..500)
        .map(|index| {
            let server = format!("server{}", index % 50);
            tool(&server, &format!("{server}_tool{index}"))
        })
        .collect();
    let ann = caller("ann");
    let arguments = json(r#"{"n":1}"#);
    let (asked, plain): (Vec<_>, Vec<_>) =
        tools.iter().enumerate().partition(|(index, _)| index % 4 == 3);
    let mut count = 0;
    for round in 0..4 {
        for (kind, tools) in [("plain", &plain), ("with a condition", &asked)] {
            let started = Instant::now();
            for (_, target) in tools {
                let ruling = rules.rule(&ann, target, &Method::ToolsCall, Some(&arguments), |_| ());
                count += usize::from(matches!(ruling, RuleDecision::By(_)));
            }
            let each = started.elapsed().as_nanos() / tools.len() as u128;
            println!("round {round}, {kind}: {each} ns a call");
        }
    }
    assert!(count > 0);
}
