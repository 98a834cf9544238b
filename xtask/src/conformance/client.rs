//! Runs of the suite with a client before it: the suite starts a server for each scenario and the
//! client to play it.

use std::path::{Path, PathBuf};

use super::runs::ClientRun;
use super::suite::Findings;
use super::tally::Tally;
use super::verdict::Verdict;
use crate::failure::Outcome;

/// Lets `client` play every scenario of a run.
pub(super) fn perform(run: &ClientRun, client: &Path, folder: PathBuf) -> Outcome<Verdict> {
    let findings = Findings::fresh(folder)?;
    let client = client.display().to_string();
    let mut exited_well = true;
    for scenario in run.scenarios {
        let arguments = [
            "client",
            "--command",
            &client,
            "--spec-version",
            run.revision,
            "--scenario",
            scenario,
        ];
        exited_well &= findings.call(run.suite, &arguments)?;
    }
    let tally = Tally::of(findings.folder())?;
    let expected = run.scenarios.len();
    Ok(Verdict::of(run.name.to_owned(), run.suite, &findings, &tally, expected, exited_well))
}
