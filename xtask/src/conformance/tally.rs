//! What the suite found, counted from the `checks.json` of each scenario's folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::workspace;

/// Scenarios of the tasks extension are recognised by this.
const TASKS: &str = "tasks-";
/// The length of `-2026-11-15T20-52-38-699Z`, which ends each folder's name.
const STAMP_LENGTH: usize = 25;

/// The checks of one scenario.
struct Scenario {
    name: String,
    checks: Vec<Check>,
}

struct Check {
    id: String,
    status: Status,
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    /// Something the suite wants to tell, not a verdict.
    Information,
}

/// All scenarios of one run.
pub(super) struct Tally {
    scenarios: Vec<Scenario>,
}

impl Tally {
    /// Reads every scenario's folder below `folder`.
    pub(super) fn of(folder: &Path) -> Outcome<Self> {
        let entries = fs::read_dir(folder).map_err(|source| Failure::file(folder, source))?;
        let mut scenarios = Vec::new();
        for entry in entries {
            let path = entry.map_err(|source| Failure::file(folder, source))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let checks = read_checks(&path.join("checks.json"))?;
            scenarios.push(Scenario { name: scenario_name(&name).to_owned(), checks });
        }
        scenarios.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Self { scenarios })
    }

    /// Whether scenarios of the tasks extension ran.
    pub(super) fn has_tasks(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.name.starts_with(TASKS))
    }

    /// Forgets the scenarios of the tasks extension and says how many there were.
    pub(super) fn leave_out_tasks(&mut self) -> usize {
        let before = self.scenarios.len();
        self.scenarios.retain(|scenario| !scenario.name.starts_with(TASKS));
        before - self.scenarios.len()
    }

    /// How many scenarios came to a verdict; one whose checks were all skipped did not.
    pub(super) fn scenarios(&self) -> usize {
        self.scenarios.iter().filter(|scenario| scenario.is_judged()).count()
    }

    /// Checks with success, failure, warning, and skipped.
    pub(super) fn counts(&self) -> [usize; 4] {
        [Status::Success, Status::Failure, Status::Warning, Status::Skipped]
            .map(|status| self.checks().filter(|(_, check)| check.status == status).count())
    }

    /// No failure and no warning.
    pub(super) fn is_clean(&self) -> bool {
        let [_, failures, warnings, _] = self.counts();
        failures == 0 && warnings == 0
    }

    /// A line for each check that spoils the run.
    pub(super) fn problems(&self) -> Vec<String> {
        let spoils = |status| matches!(status, Status::Failure | Status::Warning);
        let line = |(scenario, check): (&Scenario, &Check)| {
            let word = if check.status == Status::Failure { "FAILURE" } else { "WARNING" };
            let message = check.message.lines().next().unwrap_or_default();
            format!("{word} {} {}: {message}", scenario.name, check.id)
        };
        self.checks().filter(|(_, check)| spoils(check.status)).map(line).collect()
    }

    fn checks(&self) -> impl Iterator<Item = (&Scenario, &Check)> {
        self.scenarios
            .iter()
            .flat_map(|scenario| scenario.checks.iter().map(move |check| (scenario, check)))
    }
}

impl Scenario {
    fn is_judged(&self) -> bool {
        let judged = |check: &Check| !matches!(check.status, Status::Skipped | Status::Information);
        self.checks.iter().any(judged)
    }
}

/// `server-tools-list-2026-11-15T20-52-38-064Z` is the folder of `tools-list`.
fn scenario_name(folder: &str) -> &str {
    let end = folder.len().saturating_sub(STAMP_LENGTH);
    let name = folder.get(..end).unwrap_or(folder);
    name.strip_prefix("server-").unwrap_or(name)
}

/// A scenario that broke off leaves its folder empty, which is a failure of its own.
fn read_checks(file: &Path) -> Outcome<Vec<Check>> {
    if !file.exists() {
        let message = "the scenario broke off and wrote no checks".to_owned();
        return Ok(vec![Check { id: "completed".to_owned(), status: Status::Failure, message }]);
    }
    parse_checks(&workspace::read(file)?).map_err(|failure| Failure::file(file, failure))
}

fn parse_checks(text: &str) -> Outcome<Vec<Check>> {
    let document: Value =
        serde_json::from_str(text).map_err(|source| Failure::new(source.to_string()))?;
    let checks = document.as_array().ok_or_else(|| Failure::new("is no list of checks"))?;
    checks.iter().map(parse_check).collect()
}

fn parse_check(check: &Value) -> Outcome<Check> {
    let text = |key: &str| check.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let status = match text("status").as_str() {
        "SUCCESS" => Status::Success,
        "FAILURE" => Status::Failure,
        "WARNING" => Status::Warning,
        "SKIPPED" => Status::Skipped,
        "INFO" => Status::Information,
        unknown => {
            return Err(Failure::new(format!("a check has the unknown status `{unknown}`")));
        }
    };
    let message = match text("errorMessage") {
        empty if empty.is_empty() => text("description"),
        message => message,
    };
    Ok(Check { id: text("id"), status, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str, statuses: &[&str]) -> Scenario {
        let checks =
            statuses.iter().map(|status| format!("{{\"id\":\"i\",\"status\":\"{status}\"}}"));
        let text = format!("[{}]", checks.collect::<Vec<_>>().join(","));
        Scenario { name: name.to_owned(), checks: parse_checks(&text).expect("well-formed checks") }
    }

    #[test]
    fn scenario_names_lose_prefix_and_time() {
        let cases = [
            ("server-tools-list-2026-11-15T20-52-38-064Z", "tools-list"),
            ("server-server-stateless-2026-11-15T20-52-38-064Z", "server-stateless"),
            ("tasks-lifecycle-2026-11-15T20-52-38-064Z", "tasks-lifecycle"),
            ("short", ""),
        ];
        for (folder, expected) in cases {
            assert_eq!(scenario_name(folder), expected, "{folder}");
        }
    }

    #[test]
    fn only_success_is_clean() {
        let cases: &[(&[&str], [usize; 4], bool, usize)] = &[
            (&["SUCCESS", "SUCCESS"], [2, 0, 0, 0], true, 1),
            (&["SUCCESS", "INFO", "SKIPPED"], [1, 0, 0, 1], true, 1),
            (&["SUCCESS", "WARNING"], [1, 0, 1, 0], false, 1),
            (&["SUCCESS", "FAILURE"], [1, 1, 0, 0], false, 1),
            (&["SKIPPED"], [0, 0, 0, 1], true, 0),
            (&[], [0, 0, 0, 0], true, 0),
        ];
        for (statuses, counts, clean, judged) in cases {
            let tally = Tally { scenarios: vec![scenario("ping", statuses)] };
            assert_eq!(
                (tally.counts(), tally.is_clean(), tally.scenarios()),
                (*counts, *clean, *judged),
                "{statuses:?}"
            );
        }
    }

    #[test]
    fn tasks_can_be_left_out_and_nothing_else() {
        let names = ["tasks-lifecycle", "tools-list", "tasks-wire-fields", "subtasks-x"];
        let mut tally = Tally { scenarios: names.map(|name| scenario(name, &["FAILURE"])).into() };
        assert!(tally.has_tasks());
        assert_eq!(tally.leave_out_tasks(), 2);
        assert!(!tally.has_tasks());
        assert_eq!(tally.counts()[1], 2);
    }

    #[test]
    fn a_scenario_without_checks_failed() {
        let checks = read_checks(Path::new("no/such/checks.json")).expect("absence is a verdict");
        assert!(checks.iter().all(|check| check.status == Status::Failure) && checks.len() == 1);
    }

    #[test]
    fn strange_files_are_refused() {
        for text in ["", "{}", "[{\"status\":\"GOOD\"}]", "[{}]"] {
            assert!(parse_checks(text).is_err(), "{text}");
        }
    }
}
