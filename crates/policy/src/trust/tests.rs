//! The gate in the pipeline: what reaches a provider, and what does not.

use std::sync::Arc;

use super::*;
use crate::approvals::Answer;
use crate::house::{House, Plan, call, listing};
use gantry_gateway::Caller;

/// What must come of a call of a tool at a level: by rule (none, approve, deny), and for each by
/// approval (nobody says anything, yes, no).
type Row = (Level, &'static str, [[&'static str; 3]; 3]);

const DENIED: [&str; 3] = ["no", "no", "no"];
const ASKED: [&str; 3] = ["no", "run", "no"];
const RUNS: [&str; 3] = ["run", "run", "run"];

#[rustfmt::skip]
const TABLE: [Row; 15] = [
    // level             tool                no rule  approve  deny
    (Level::Untrusted, "reads",            [DENIED, DENIED, DENIED]),
    (Level::Untrusted, "changes",          [DENIED, DENIED, DENIED]),
    (Level::Untrusted, "destroys",         [DENIED, DENIED, DENIED]),
    (Level::Untrusted, "far_reads",        [DENIED, DENIED, DENIED]),
    (Level::Untrusted, "far_says_nothing", [DENIED, DENIED, DENIED]),
    (Level::Verified,  "reads",            [RUNS,   ASKED,  DENIED]),
    (Level::Verified,  "changes",          [RUNS,   ASKED,  DENIED]),
    (Level::Verified,  "destroys",         [ASKED,  ASKED,  DENIED]),
    (Level::Verified,  "far_reads",        [RUNS,   ASKED,  DENIED]),
    (Level::Verified,  "far_says_nothing", [ASKED,  ASKED,  DENIED]),
    (Level::Trusted,   "reads",            [RUNS,   ASKED,  DENIED]),
    (Level::Trusted,   "changes",          [RUNS,   ASKED,  DENIED]),
    (Level::Trusted,   "destroys",         [RUNS,   ASKED,  DENIED]),
    (Level::Trusted,   "far_reads",        [RUNS,   ASKED,  DENIED]),
    (Level::Trusted,   "far_says_nothing", [RUNS,   ASKED,  DENIED]),
];

#[tokio::test(start_paused = true)]
async fn trust_by_annotation_by_rule_by_approval() {
    let (rules, answers) = (["", "approve", "deny"], ["nobody", "yes", "no"]);
    for (level, tool, by_rule) in TABLE {
        for (rule, by_answer) in rules.into_iter().zip(by_rule) {
            for (answer, expected) in answers.into_iter().zip(by_answer) {
                for in_order in [true, false] {
                    let expected = if in_order { expected } else { "no" };
                    let case = format!("{level} {tool} rule={rule} answer={answer} {in_order}");
                    let said = one(level, tool, rule, answer, in_order).await;
                    assert_eq!(said, (expected, usize::from(expected == "run")), "{case}");
                }
            }
        }
    }
}

/// What comes of one call, and how often it reached its provider.
async fn one(
    level: Level,
    tool: &str,
    rule: &'static str,
    answer: &str,
    in_order: bool,
) -> (&'static str, usize) {
    let trust = TrustSettings { level, ..TrustSettings::default() };
    let house = House::open(Plan { trust, rule, in_order, ..Plan::default() }).await;
    let call = call(tool, "{}", Caller::new("me"));
    let outcome = match answer {
        "yes" => house.call_answered(call, Answer::once("you")).await,
        "no" => house.call_answered(call, Answer::deny("you")).await,
        _ => house.call(tool).await,
    };
    let said = if outcome == "run" { "run" } else { "no" };
    assert!(said == "run" || outcome.starts_with("Refused: "), "{outcome}");
    (said, house.runs())
}

#[tokio::test(start_paused = true)]
async fn the_most_specific_decision_counts_and_survives() {
    let plan = Plan::default();
    let house = House::open(plan.clone()).await;
    let tool = |name: &str| Subject::Tool(name.to_owned());
    let far = Subject::Server("far".to_owned());
    let steps = [
        (None, "far_says_nothing", false),
        (Some((far.clone(), Level::Trusted)), "far_says_nothing", true),
        (Some((tool("far_says_nothing"), Level::Verified)), "far_says_nothing", false),
        (Some((tool("far_says_nothing"), Level::Trusted)), "far_says_nothing", true),
        (Some((far, Level::Untrusted)), "far_reads", false),
        (None, "far_says_nothing", true),
        (Some((Subject::Gateway, Level::Untrusted)), "far_says_nothing", false),
        (None, "reads", false),
        (Some((Subject::Gateway, Level::Verified)), "reads", true),
    ];
    for (decision, called, runs) in steps {
        let case = format!("{decision:?} {called}");
        if let Some((subject, level)) = decision {
            house.trust.rule(subject, level, "you", &house.snapshot()).await.unwrap();
        }
        assert_eq!(house.call(called).await == "run", runs, "{case}");
    }
    assert_eq!(house.call("far_says_nothing").await, "run");
    assert_eq!(house.decided(), "trust true: tool:far_says_nothing is trusted");
    let again = House::open(plan).await;
    assert_eq!(again.trust.rulings(), house.trust.rulings());
    assert_eq!(again.call("far_says_nothing").await, "run", "after a restart");
    assert!(again.trust.revoke(&tool("far_says_nothing"), "you").await.unwrap());
    assert!(!again.trust.revoke(&tool("far_says_nothing"), "you").await.unwrap());
    assert!(again.call("far_says_nothing").await.contains("its server is untrusted"));
}

#[tokio::test(start_paused = true)]
async fn trust_ends_where_the_definition_changes_and_distrust_does_not() {
    let house = House::open(Plan::default()).await;
    for (name, level) in [("destroys", Level::Trusted), ("reads", Level::Untrusted)] {
        let subject = Subject::Tool(name.to_owned());
        house.trust.rule(subject, level, "you", &house.snapshot()).await.unwrap();
    }
    assert_eq!(house.call("destroys").await, "run");
    house.publisher.publish(listing("looks at everything"));
    assert!(house.call("destroys").await.contains("nobody approved it"), "another definition");
    assert!(house.call("reads").await.contains("it is untrusted"), "under the same name");
    house.publisher.publish(listing("looks at nothing"));
    assert_eq!(house.call("destroys").await, "run", "the definition is the trusted one again");
    let snapshot = house.snapshot();
    let tool = snapshot.tool("reads").unwrap();
    let target = Target::Tool(Arc::new(tool.renamed("other").unwrap()));
    assert_eq!(house.trust.standing(&target, false).level(), Level::Untrusted, "by another name");
}

#[tokio::test]
async fn what_is_not_there_cannot_be_trusted() {
    let house = House::open(Plan::default()).await;
    let snapshot = house.snapshot();
    for subject in ["nothing", "server:nowhere"] {
        let subject = Subject::parse(subject).unwrap();
        let ruled = house.trust.rule(subject.clone(), Level::Trusted, "you", &snapshot);
        assert_eq!(ruled.await, Err(TrustError::Unknown(subject.clone())));
        let ruled = house.trust.rule(subject, Level::Untrusted, "you", &snapshot);
        assert!(ruled.await.is_ok(), "distrust needs nothing to be there");
    }
}

#[tokio::test(start_paused = true)]
async fn a_forged_decision_does_not_count() {
    let plan = Plan::default();
    let forged = r#"{"body":"{\"subject\":\"gateway\",\"level\":\"trusted\",\"bound\":null,\"by\":\"me\",\"at\":1}","signature":"00"}"#;
    use crate::cabinet::Cabinet;
    plan.cabinet.put(KIND, "gateway", forged.to_owned()).await.unwrap();
    let house = House::open(plan).await;
    assert_eq!((house.trust.level(), house.trust.rulings()), (Level::Verified, vec![]));
    assert!(house.call("destroys").await.contains("nobody approved it"));
}

#[tokio::test(start_paused = true)]
async fn the_configuration_says_what_tools_do_and_what_is_asked() {
    let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
    let with = |approve: &[&str], destructive: &[&str], read_only: &[&str]| TrustSettings {
        approve: approve.iter().map(|it| Wanted::parse(it)).collect(),
        destructive: texts(destructive),
        read_only: texts(read_only),
        ..TrustSettings::default()
    };
    let cases = [
        (with(&["destructive"], &["read*"], &[]), "reads", false),
        (with(&["destructive"], &[], &["far_*"]), "far_says_nothing", true),
        (with(&["destructive"], &["far_*"], &["far_*"]), "far_says_nothing", false),
        (with(&["changes"], &[], &[]), "changes", false),
        (with(&["changes"], &[], &[]), "reads", true),
        (with(&["all"], &[], &[]), "reads", false),
        (with(&["re*"], &[], &[]), "reads", false),
        (with(&["re*"], &[], &[]), "changes", true),
        (with(&[], &[], &[]), "destroys", false),
    ];
    for (settings, tool, runs) in cases {
        let house = House::open(Plan::default()).await;
        house.trust.configure(settings.clone());
        assert_eq!(house.call(tool).await == "run", runs, "{settings:?} {tool}");
    }
}
