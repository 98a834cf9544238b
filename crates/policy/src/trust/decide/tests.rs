//! Every combination of what matters, by a table of what must come of it.

use super::*;

const LEVELS: [Level; 3] = Level::ALL;
const DECIDED: [Option<Level>; 4] =
    [None, Some(Level::Untrusted), Some(Level::Verified), Some(Level::Trusted)];
const EFFECTS: [Effect; 4] =
    [Effect::ReadOnly, Effect::Changes, Effect::Unannotated, Effect::Destroys];

/// All combinations.
fn all() -> Vec<TrustInputs> {
    let mut all = Vec::new();
    for gateway in LEVELS {
        for server in DECIDED {
            for tool in DECIDED {
                for effect in EFFECTS {
                    for bits in 0..64 {
                        let bit = |at: u32| bits & (1 << at) != 0;
                        let approve = Approve {
                            destructive: bit(0),
                            unannotated: bit(5),
                            changes: bit(1),
                            always: bit(2),
                        };
                        let (rule, in_order) = (bit(3), bit(4));
                        all.push(TrustInputs {
                            gateway,
                            server,
                            tool,
                            in_order,
                            effect,
                            rule,
                            approve,
                        });
                    }
                }
            }
        }
    }
    all
}

/// `run`, `ask` or `no`.
fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Run => "run",
        Outcome::NeedsApproval(_) => "ask",
        Outcome::Refuse(_) => "no",
    }
}

/// What must come of calls at a level: by effect, and by what is to be approved. The columns are
/// nothing, `destructive`, `unannotated` with or without that, `changes` with or without the others,
/// and then a rule, a pattern or `all`.
const TABLE: [(Level, Effect, [&str; 5]); 12] = [
    (Level::Untrusted, Effect::ReadOnly, ["no", "no", "no", "no", "no"]),
    (Level::Untrusted, Effect::Changes, ["no", "no", "no", "no", "no"]),
    (Level::Untrusted, Effect::Unannotated, ["no", "no", "no", "no", "no"]),
    (Level::Untrusted, Effect::Destroys, ["no", "no", "no", "no", "no"]),
    (Level::Verified, Effect::ReadOnly, ["run", "run", "run", "run", "ask"]),
    (Level::Verified, Effect::Changes, ["run", "run", "run", "ask", "ask"]),
    (Level::Verified, Effect::Unannotated, ["run", "run", "ask", "ask", "ask"]),
    (Level::Verified, Effect::Destroys, ["no", "ask", "ask", "ask", "ask"]),
    (Level::Trusted, Effect::ReadOnly, ["run", "run", "run", "run", "ask"]),
    (Level::Trusted, Effect::Changes, ["run", "run", "run", "run", "ask"]),
    (Level::Trusted, Effect::Unannotated, ["run", "run", "run", "run", "ask"]),
    (Level::Trusted, Effect::Destroys, ["run", "run", "run", "run", "ask"]),
];

#[test]
fn every_combination_has_its_outcome() {
    let all = all();
    assert_eq!(all.len(), 3 * 4 * 4 * 4 * 64);
    for inputs in all {
        let TrustInputs { gateway, server, tool, in_order, effect, rule, approve } = inputs;
        let level = match (gateway, in_order, tool, server) {
            (Level::Untrusted, ..) | (_, false, ..) => Level::Untrusted,
            (_, true, Some(tool), _) => tool,
            (_, true, None, Some(server)) => server,
            (gateway, true, None, None) => gateway,
        };
        let columns = [
            (rule || approve.always, 4),
            (approve.changes, 3),
            (approve.unannotated, 2),
            (approve.destructive, 1),
        ];
        let column = columns.iter().find(|it| it.0).map_or(0, |it| it.1);
        let row = TABLE.iter().find(|row| (row.0, row.1) == (level, effect)).unwrap();
        assert_eq!(word(decide(&inputs)), row.2[column], "{inputs:?}");
    }
}

#[test]
fn reasons_name_what_decided() {
    let base = TrustInputs {
        gateway: Level::Verified,
        server: None,
        tool: None,
        in_order: true,
        effect: Effect::Destroys,
        rule: false,
        approve: Approve { destructive: true, unannotated: false, changes: false, always: false },
    };
    let untrusted = Some(Level::Untrusted);
    let always = Approve { always: true, ..base.approve };
    let none = Approve { destructive: false, ..base.approve };
    let unannotated = TrustInputs { effect: Effect::Unannotated, ..base };
    let asks = Approve { unannotated: true, ..base.approve };
    let cases = [
        (base, Outcome::NeedsApproval(Reason::Destructive)),
        (TrustInputs { approve: none, ..base }, Outcome::Refuse(Reason::Destructive)),
        (unannotated, Outcome::Run),
        (TrustInputs { approve: asks, ..unannotated }, Outcome::NeedsApproval(Reason::Unannotated)),
        (TrustInputs { rule: true, ..base }, Outcome::NeedsApproval(Reason::Rule)),
        (TrustInputs { approve: always, ..base }, Outcome::NeedsApproval(Reason::Always)),
        (TrustInputs { in_order: false, ..base }, Outcome::Refuse(Reason::OutOfOrder)),
        (TrustInputs { server: untrusted, ..base }, Outcome::Refuse(Reason::ServerUntrusted)),
        (TrustInputs { tool: untrusted, ..base }, Outcome::Refuse(Reason::ToolUntrusted)),
        (TrustInputs { gateway: Level::Untrusted, ..base }, Outcome::Refuse(Reason::LockedDown)),
    ];
    for (inputs, expected) in cases {
        assert_eq!(decide(&inputs), expected, "{inputs:?}");
    }
}

/// What annotations and metadata mean, for a tool of a server and for one of our own. The table of
/// docs/trust.md.
#[test]
fn what_hints_mean() {
    use Effect::{Changes, Destroys, ReadOnly, Unannotated};
    let cases = [
        (r"{}", Unannotated, Changes),
        (r#"{"annotations":{}}"#, Unannotated, Changes),
        (r#"{"annotations":null}"#, Unannotated, Changes),
        (r#"{"annotations":{"title":"T","openWorldHint":false}}"#, Unannotated, Changes),
        (r#"{"annotations":{"idempotentHint":true}}"#, Unannotated, Changes),
        (r#"{"annotations":{"readOnlyHint":false}}"#, Unannotated, Changes),
        (r#"{"annotations":{"readOnlyHint":"yes","destructiveHint":1}}"#, Unannotated, Changes),
        (r#"{"annotations":{"readOnlyHint":true}}"#, ReadOnly, ReadOnly),
        (r#"{"annotations":{"readOnlyHint":true,"destructiveHint":false}}"#, ReadOnly, ReadOnly),
        (r#"{"annotations":{"readOnlyHint":true,"destructiveHint":true}}"#, Destroys, Destroys),
        (r#"{"annotations":{"destructiveHint":true}}"#, Destroys, Destroys),
        (r#"{"annotations":{"readOnlyHint":false,"destructiveHint":true}}"#, Destroys, Destroys),
        (r#"{"annotations":{"destructiveHint":false}}"#, Changes, Changes),
        (r#"{"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#, Changes, Changes),
        (r#"{"_meta":{"gantry/tool":{"destructive":true}}}"#, Destroys, Destroys),
        (r#"{"_meta":{"gantry/tool":{"destructive":false}}}"#, Changes, Changes),
        (
            r#"{"annotations":{"destructiveHint":false},"_meta":{"gantry/tool":{"destructive":true}}}"#,
            Destroys,
            Destroys,
        ),
    ];
    for (text, of_server, own) in cases {
        let definition = gantry_protocol::RawJson::from_static(text);
        let found = (Effect::of(&definition, true), Effect::of(&definition, false));
        assert_eq!(found, (of_server, own), "{text}");
    }
}
