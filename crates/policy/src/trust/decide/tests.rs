//! Every combination of what matters, by a table of what must come of it.

use super::*;

const LEVELS: [Level; 3] = Level::ALL;
const DECIDED: [Option<Level>; 4] =
    [None, Some(Level::Untrusted), Some(Level::Verified), Some(Level::Trusted)];
const EFFECTS: [Effect; 3] = [Effect::ReadOnly, Effect::Changes, Effect::Destroys];

/// All combinations.
fn all() -> Vec<Standing> {
    let mut all = Vec::new();
    for gateway in LEVELS {
        for server in DECIDED {
            for tool in DECIDED {
                for effect in EFFECTS {
                    for bits in 0..32 {
                        let bit = |at: u32| bits & (1 << at) != 0;
                        let approve =
                            Approve { destructive: bit(0), changes: bit(1), always: bit(2) };
                        let (rule, in_order) = (bit(3), bit(4));
                        all.push(Standing {
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
/// nothing, `destructive`, `changes`, both, and then a rule, a pattern or `all`.
const TABLE: [(Level, Effect, [&str; 5]); 9] = [
    (Level::Untrusted, Effect::ReadOnly, ["no", "no", "no", "no", "no"]),
    (Level::Untrusted, Effect::Changes, ["no", "no", "no", "no", "no"]),
    (Level::Untrusted, Effect::Destroys, ["no", "no", "no", "no", "no"]),
    (Level::Verified, Effect::ReadOnly, ["run", "run", "run", "run", "ask"]),
    (Level::Verified, Effect::Changes, ["run", "run", "ask", "ask", "ask"]),
    (Level::Verified, Effect::Destroys, ["no", "ask", "ask", "ask", "ask"]),
    (Level::Trusted, Effect::ReadOnly, ["run", "run", "run", "run", "ask"]),
    (Level::Trusted, Effect::Changes, ["run", "run", "run", "run", "ask"]),
    (Level::Trusted, Effect::Destroys, ["run", "run", "run", "run", "ask"]),
];

#[test]
fn every_combination_has_its_outcome() {
    let all = all();
    assert_eq!(all.len(), 3 * 4 * 4 * 3 * 32);
    for standing in all {
        let Standing { gateway, server, tool, in_order, effect, rule, approve } = standing;
        let level = match (gateway, in_order, tool, server) {
            (Level::Untrusted, ..) | (_, false, ..) => Level::Untrusted,
            (_, true, Some(tool), _) => tool,
            (_, true, None, Some(server)) => server,
            (gateway, true, None, None) => gateway,
        };
        let column = match (rule || approve.always, approve.changes, approve.destructive) {
            (true, ..) => 4,
            (false, changes, destructive) => 2 * usize::from(changes) + usize::from(destructive),
        };
        let row = TABLE.iter().find(|row| (row.0, row.1) == (level, effect)).unwrap();
        assert_eq!(word(decide(&standing)), row.2[column], "{standing:?}");
    }
}

#[test]
fn reasons_name_what_decided() {
    let base = Standing {
        gateway: Level::Verified,
        server: None,
        tool: None,
        in_order: true,
        effect: Effect::Destroys,
        rule: false,
        approve: Approve { destructive: true, changes: false, always: false },
    };
    let untrusted = Some(Level::Untrusted);
    let always = Approve { always: true, ..base.approve };
    let none = Approve { destructive: false, ..base.approve };
    let cases = [
        (base, Outcome::NeedsApproval(Reason::Destructive)),
        (Standing { approve: none, ..base }, Outcome::Refuse(Reason::Destructive)),
        (Standing { rule: true, ..base }, Outcome::NeedsApproval(Reason::Rule)),
        (Standing { approve: always, ..base }, Outcome::NeedsApproval(Reason::Always)),
        (Standing { in_order: false, ..base }, Outcome::Refuse(Reason::OutOfOrder)),
        (Standing { server: untrusted, ..base }, Outcome::Refuse(Reason::ServerUntrusted)),
        (Standing { tool: untrusted, ..base }, Outcome::Refuse(Reason::ToolUntrusted)),
        (Standing { gateway: Level::Untrusted, ..base }, Outcome::Refuse(Reason::LockedDown)),
    ];
    for (standing, expected) in cases {
        assert_eq!(decide(&standing), expected, "{standing:?}");
    }
}
