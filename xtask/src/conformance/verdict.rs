//! What came of a run: its row of the table, and whether it passed.

use super::suite::Findings;
use super::tally::Tally;
use crate::steps;

/// The columns of the table.
pub(super) const HEADS: &[&str] =
    &["run", "suite", "scenarios", "success", "failure", "warning", "skipped", "result"];

/// The end of one run.
pub(super) struct Verdict {
    pub(super) run: String,
    pub(super) row: Vec<String>,
    pub(super) passed: bool,
}

impl Verdict {
    /// Judges what the suite found, and says what spoils it. `exited_well` is the suite's own word.
    pub(super) fn of(
        run: String,
        version: &str,
        findings: &Findings,
        tally: &Tally,
        expected: usize,
        exited_well: bool,
    ) -> Self {
        for problem in tally.problems() {
            steps::note(&format!("{run}: {problem}"));
        }
        let complete = tally.scenarios() >= expected;
        if !complete {
            let ran = tally.scenarios();
            steps::note(&format!("{run}: only {ran} of {expected} scenarios ran"));
        }
        if !exited_well {
            let log = findings.log();
            let log = log.display();
            steps::note(&format!("{run}: the suite ended without success; see `{log}`"));
        }
        let passed = exited_well && complete && tally.is_clean();
        let [success, failure, warning, skipped] = tally.counts().map(|count| count.to_string());
        let scenarios = format!("{}/{expected}", tally.scenarios());
        let word = if passed { "passed" } else { "FAILED" }.to_owned();
        let row = vec![
            run.clone(),
            version.to_owned(),
            scenarios,
            success,
            failure,
            warning,
            skipped,
            word,
        ];
        Self { run, row, passed }
    }
}
