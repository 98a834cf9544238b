//! Every combination of trust, annotation, rule and approval, through the pipeline with the real
//! policies: what must come of it, and which policy is noted to have decided.

use gantry_gateway::Caller;

use super::*;
use crate::approvals::Answer;
use crate::rules::RuleEffect::{self, Allow, Approve as Wants, Deny};
use crate::test_gateway::call;
use Level::{Trusted, Untrusted, Verified};

/// Rules as they can stand: what one says, and whether what none is about is allowed.
const RULES: [(Option<RuleEffect>, bool); 5] =
    [(None, true), (Some(Allow), false), (Some(Wants), false), (Some(Deny), true), (None, false)];

/// What is said when an approval is asked for.
const ANSWERS: [&str; 3] = ["nothing", "yes", "no"];

/// What somebody decided beside the level of the whole gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    Nothing,
    Server(Level),
    Tool(Level),
}
use Decided::{Nothing, Server, Tool};

const DECIDED: [Decided; 7] = [
    Nothing,
    Server(Untrusted),
    Server(Verified),
    Server(Trusted),
    Tool(Untrusted),
    Tool(Verified),
    Tool(Trusted),
];
const ANYTHING: &[Decided] = &DECIDED;
/// What is decided about a server does not concern tools that are of none.
const NO_TOOL: &[Decided] = &[Nothing, Server(Untrusted), Server(Verified), Server(Trusted)];

/// Tools, by what their annotations say, here and on the server `far`.
const TOOLS: [&str; 7] = [
    "reads",
    "changes",
    "destroys",
    "far_reads",
    "far_changes",
    "far_says_nothing",
    "far_destroys",
];
const ALL: &[&str] = &TOOLS;
const MILD: &[&str] = &["reads", "changes", "far_reads", "far_changes", "far_says_nothing"];
const WILD: &[&str] = &["destroys", "far_destroys"];
const HERE: &[&str] = &["reads", "changes", "destroys"];
const HERE_MILD: &[&str] = &["reads", "changes"];
const HERE_WILD: &[&str] = &["destroys"];
const FAR: &[&str] = &["far_reads", "far_changes", "far_says_nothing", "far_destroys"];
const FAR_MILD: &[&str] = &["far_reads", "far_changes", "far_says_nothing"];
const FAR_WILD: &[&str] = &["far_destroys"];

/// What is noted of a call, by answer: the policy that decided, whether it let the call through,
/// and why. A call that nobody objected to has no note. It has run unless the note refuses it.
type Cell = [&'static str; 3];
const FREE: Cell = [""; 3];
const RULED: Cell = ["rules true: the rule"; 3];
const DENIED: Cell = ["rules false: the rule"; 3];
const UNSAID: Cell = ["rules false: default"; 3];
const LOCKED: Cell = ["trust false: locked down"; 3];
const PINNED: Cell = ["trust false: out of order"; 3];
const BAD: Cell = ["trust false: SUBJECT is untrusted"; 3];
const KNOWN: Cell = ["trust true: SUBJECT is verified"; 3];
const GOOD: Cell = ["trust true: SUBJECT is trusted"; 3];
const ASKED: Cell = [
    "approval false: waits for approval",
    "approval true: approved by you (administrator)",
    "approval false: denied by you (administrator)",
];

/// The gateway's levels, whether definitions are in order, decisions, tools; and what must come of
/// such calls with each of the rules.
type Row =
    (&'static [Level], &'static [bool], &'static [Decided], &'static [&'static str], [Cell; 5]);

const OPEN: &[Level] = &[Verified, Trusted];
const IN: &[bool] = &[true];
const OUT: &[bool] = &[false];
const BOTH: &[bool] = &[true, false];

#[rustfmt::skip]
const TABLE: [Row; 16] = [
    // gateway     order decided               tools      no rule allow   approve deny    default
    (&[Untrusted], BOTH, ANYTHING,             ALL,       [LOCKED, LOCKED, LOCKED, DENIED, UNSAID]),
    (OPEN,         OUT,  ANYTHING,             ALL,       [PINNED, PINNED, PINNED, DENIED, UNSAID]),
    (OPEN,         IN,   &[Tool(Untrusted)],   ALL,       [BAD,    BAD,    BAD,    DENIED, UNSAID]),
    (OPEN,         IN,   &[Tool(Verified)],    MILD,      [KNOWN,  KNOWN,  ASKED,  DENIED, UNSAID]),
    (OPEN,         IN,   &[Tool(Verified)],    WILD,      [ASKED,  ASKED,  ASKED,  DENIED, UNSAID]),
    (OPEN,         IN,   &[Tool(Trusted)],     ALL,       [GOOD,   GOOD,   ASKED,  DENIED, UNSAID]),
    (OPEN,         IN,   &[Server(Untrusted)], FAR,       [BAD,    BAD,    BAD,    DENIED, UNSAID]),
    (OPEN,         IN,   &[Server(Verified)],  FAR_MILD,  [KNOWN,  KNOWN,  ASKED,  DENIED, UNSAID]),
    (OPEN,         IN,   &[Server(Verified)],  FAR_WILD,  [ASKED,  ASKED,  ASKED,  DENIED, UNSAID]),
    (OPEN,         IN,   &[Server(Trusted)],   FAR,       [GOOD,   GOOD,   ASKED,  DENIED, UNSAID]),
    (&[Verified],  IN,   NO_TOOL,              HERE_MILD, [FREE,   RULED,  ASKED,  DENIED, UNSAID]),
    (&[Verified],  IN,   NO_TOOL,              HERE_WILD, [ASKED,  ASKED,  ASKED,  DENIED, UNSAID]),
    (&[Verified],  IN,   &[Nothing],           FAR_MILD,  [FREE,   RULED,  ASKED,  DENIED, UNSAID]),
    (&[Verified],  IN,   &[Nothing],           FAR_WILD,  [ASKED,  ASKED,  ASKED,  DENIED, UNSAID]),
    (&[Trusted],   IN,   NO_TOOL,              HERE,      [FREE,   RULED,  ASKED,  DENIED, UNSAID]),
    (&[Trusted],   IN,   &[Nothing],           FAR,       [FREE,   RULED,  ASKED,  DENIED, UNSAID]),
];

/// A gateway's level, whether definitions are in order, a decision and a tool.
type Case = (Level, bool, Decided, &'static str);

#[tokio::test(start_paused = true)]
async fn trust_by_annotation_by_rule_by_approval() {
    for level in Level::ALL {
        for in_order in [true, false] {
            for decided in DECIDED {
                for tool in TOOLS {
                    check((level, in_order, decided, tool)).await;
                }
            }
        }
    }
}

/// Goes through all rules and all answers.
async fn check(case: Case) {
    let (level, in_order, decided, tool) = case;
    let fits = |row: &&Row| {
        row.0.contains(&level)
            && row.1.contains(&in_order)
            && row.2.contains(&decided)
            && row.3.contains(&tool)
    };
    let rows: Vec<&Row> = TABLE.iter().filter(fits).collect();
    let [(.., by_rule)] = rows[..] else { panic!("{case:?} has {} rows", rows.len()) };
    let subject = match decided {
        Server(_) => "server:far".to_owned(),
        Tool(_) | Nothing => format!("tool:{tool}"),
    };
    for (rule, by_answer) in RULES.into_iter().zip(by_rule) {
        let test_gateway = open(case, rule).await;
        for (answer, expected) in ANSWERS.into_iter().zip(by_answer) {
            let expected = expected.replace("SUBJECT", &subject);
            let runs = !expected.contains(" false: ");
            let found = one(&test_gateway, tool, answer).await;
            assert_eq!(found, (expected, runs), "{case:?} rule={rule:?} answer={answer}");
        }
    }
}

async fn open(case: Case, rule: (Option<RuleEffect>, bool)) -> TestGateway {
    let (level, in_order, decided, tool) = case;
    let trust = TrustSettings { level, ..TrustSettings::default() };
    let (rule, default_allows) = rule;
    let plan = TestPolicies { trust, rule, default_allows, in_order, ..TestPolicies::default() };
    let test_gateway = TestGateway::open(plan).await;
    let decision = match decided {
        Nothing => None,
        Server(level) => Some((Subject::Server("far".to_owned()), level)),
        Tool(level) => Some((Subject::Tool(tool.to_owned()), level)),
    };
    if let Some((subject, level)) = decision {
        test_gateway.trust.rule(subject, level, "you", &test_gateway.snapshot()).await.unwrap();
    }
    test_gateway
}

/// What is noted of one call, and whether it reached its provider.
async fn one(test_gateway: &TestGateway, tool: &str, answer: &str) -> (String, bool) {
    let before = test_gateway.runs();
    let call = call(tool, "{}", Caller::new("me"));
    let outcome = match answer {
        "yes" => test_gateway.call_answered(call, Answer::once("you")).await,
        "no" => test_gateway.call_answered(call, Answer::deny("you")).await,
        _ => test_gateway.call(tool).await,
    };
    let is_refused = outcome.starts_with("Refused: ") || outcome.contains("PermissionError");
    assert!(outcome == "run" || is_refused, "{outcome}");
    let runs = test_gateway.runs() - before;
    assert_eq!(runs, usize::from(outcome == "run"), "{outcome}");
    let decided = test_gateway.decided();
    let open = "approval false: waits for approval";
    let decided = if decided.starts_with(open) { open.to_owned() } else { decided };
    (decided, runs == 1)
}
