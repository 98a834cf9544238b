//! Whether a turn was as it should be: in time, with all tools in the first request to the model, under
//! names that models take, with the result that the scenario wants, and with no tool run twice.

use std::time::Duration;

use serde_json::Value;

use super::manifest::Scenario;
use super::turn::Turn;

/// A turn that takes longer is too slow.
const LIMIT: Duration = Duration::from_secs(30);
/// The longest name of a tool that model providers take.
const LONGEST_NAME: usize = 64;
/// How much of a result is shown in the table.
const SHOWN: usize = 160;

/// Every reason why it failed; or what is worth knowing of one that passed.
pub(super) fn judge(turn: &Turn, scenario: &Scenario) -> Result<String, String> {
    let reasons: Vec<String> = [
        how_it_ended(turn),
        what_it_saw(&turn.requests, scenario),
        bad_names(&turn.requests),
        what_it_heard(&turn.requests, scenario),
        how_often(turn, scenario),
    ]
    .into_iter()
    .flatten()
    .collect();
    if reasons.is_empty() { Ok(remark(&turn.requests, scenario)) } else { Err(reasons.join("; ")) }
}

fn how_it_ended(turn: &Turn) -> Option<String> {
    let took = turn.took.saturating_sub(turn.before);
    match turn.status {
        None => Some(format!("had to be ended after {} s", turn.took.as_secs())),
        Some(_) if took > LIMIT => {
            Some(format!("the turn took {} s, more than {}", took.as_secs(), LIMIT.as_secs()))
        }
        Some(status) if !status.success() => Some(format!("ended with {status}")),
        Some(_) => None,
    }
}

fn what_it_saw(requests: &[Value], scenario: &Scenario) -> Option<String> {
    let Some(first) = first(requests) else {
        return Some("never asked the model with tools".to_owned());
    };
    let offered = names(first);
    let missing = scenario.sees.iter().filter(|tool| !offers(&offered, tool));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    let told = format!("the first request to the model is without {}", missing.join(", "));
    (!missing.is_empty()).then_some(told)
}

fn bad_names(requests: &[Value]) -> Option<String> {
    let all = requests.iter().flat_map(names);
    let bad: Vec<&str> = all.filter(|name| !fits(name)).collect();
    bad.first().map(|name| format!("`{name}` is no name for a model"))
}

fn what_it_heard(requests: &[Value], scenario: &Scenario) -> Option<String> {
    let Some(result) = result(requests) else {
        return Some("the model got no result of the tool".to_owned());
    };
    let is_as_wanted = scenario.result.iter().any(|part| result.contains(part.as_str()));
    (!is_as_wanted).then(|| format!("the model got: {}", shortened(result)))
}

fn how_often(turn: &Turn, scenario: &Scenario) -> Option<String> {
    let count = turn.runs.len();
    let differs = u64::try_from(count).is_ok_and(|count| count != scenario.runs);
    differs.then(|| format!("tools ran {count} times instead of {}", scenario.runs))
}

fn remark(requests: &[Value], scenario: &Scenario) -> String {
    let result = result(requests).map(shortened).unwrap_or_default();
    let late = scenario.late.iter().map(|tool| {
        let seen = requests
            .iter()
            .filter(|request| {
                first(std::slice::from_ref(request)).is_some() || has_results(request)
            })
            .position(|request| offers(&names(request), tool));
        match seen {
            None => format!("{tool} was not offered in this turn"),
            Some(0) => format!("{tool} in the first request"),
            Some(_) => format!("{tool} in a later request"),
        }
    });
    late.chain([result]).collect::<Vec<_>>().join("; ")
}

/// The first request of the turn itself. Agents make others beside it, for a title or a summary; those
/// have no tools, or not the words of the prompt.
fn first(requests: &[Value]) -> Option<&Value> {
    requests.iter().find(|request| {
        let is_turn = request.get("wanted").is_some() && !names(request).is_empty();
        is_turn && !has_results(request)
    })
}

fn has_results(request: &Value) -> bool {
    request.get("results").and_then(Value::as_array).is_some_and(|results| !results.is_empty())
}

/// The last result of the tool that the model was told.
fn result(requests: &[Value]) -> Option<&str> {
    let results = requests.iter().filter_map(|request| request.get("results")?.as_array());
    results.rev().find_map(|results| results.last()?.as_str())
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request.get("tools").and_then(Value::as_array);
    tools.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Agents put something before the name.
fn offers(offered: &[&str], tool: &str) -> bool {
    offered.iter().any(|name| name.ends_with(tool))
}

/// Where tools come in namespaces, namespace and name stand for themselves.
pub(super) fn fits(name: &str) -> bool {
    name.split('/').all(|part| {
        let signs = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
        !part.is_empty() && part.len() <= LONGEST_NAME && part.chars().all(signs)
    })
}

fn shortened(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let mut short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn scenario() -> Scenario {
        Scenario {
            name: "one".to_owned(),
            servers: serde_json::Map::new(),
            prompt: String::new(),
            sees: vec!["a_note".to_owned()],
            late: vec!["b_note".to_owned()],
            approves: false,
            result: vec!["noted".to_owned()],
            runs: 1,
        }
    }

    fn turn() -> Turn {
        Turn {
            took: Duration::from_secs(2),
            before: Duration::from_secs(1),
            status: Some(ExitStatus::from_raw(0)),
            requests: vec![
                json!({"tools": [], "results": [], "wanted": "a_note"}),
                json!({"tools": ["mcp__g__a_note"], "results": [], "wanted": "a_note"}),
                json!({"tools": ["mcp__g__a_note", "g/b_note"], "results": ["noted x"], "wanted": "a_note"}),
            ],
            runs: vec![json!({})],
        }
    }

    #[test]
    fn a_good_turn_passes() {
        assert_eq!(
            judge(&turn(), &scenario()),
            Ok("b_note in a later request; noted x".to_owned())
        );
    }

    #[test]
    fn every_fault_is_named() {
        type Spoil = fn(&mut Turn);
        let cases: [(Spoil, &str); 8] = [
            (|turn| turn.status = None, "had to be ended"),
            (|turn| turn.took = Duration::from_secs(32), "took 31 s"),
            (|turn| turn.status = Some(ExitStatus::from_raw(256)), "ended with exit status: 1"),
            (|turn| turn.requests[1]["tools"] = json!(["x"]), "without a_note"),
            (|turn| turn.requests.truncate(1), "never asked"),
            (|turn| turn.requests[2]["tools"] = json!(["a.note"]), "`a.note` is no name"),
            (|turn| turn.requests[2]["results"] = json!(["no such\ntool"]), "got: no such tool"),
            (|turn| turn.runs.push(json!({})), "ran 2 times instead of 1"),
        ];
        for (spoil, expected) in cases {
            let mut turn = turn();
            spoil(&mut turn);
            let reason = judge(&turn, &scenario()).expect_err(expected);
            assert!(reason.contains(expected), "{expected}: {reason}");
        }
    }
}
