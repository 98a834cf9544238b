//! Runs of the suite with a server before it.

use std::path::Path;

use super::layout::Layout;
use super::probe;
use super::runs::Run;
use super::suite::Findings;
use super::tally::Tally;
use super::verdict::Verdict;
use crate::failure::Outcome;
use crate::steps;

/// Does one run of a layout, which listens at `url`.
pub(super) fn perform(layout: &Layout, run: &Run, url: &str, results: &Path) -> Outcome<Verdict> {
    let name = layout.run_name(run.name);
    let folder = results.join(&name);
    let findings = Findings::fresh(folder)?;
    let mut arguments = vec!["server", "--url", url];
    arguments.extend(run.arguments);
    let exited_well = findings.call(run.suite, &arguments)?;
    let mut tally = Tally::of(findings.folder())?;
    // The suite runs the tasks extension's scenarios with the required ones of this revision, but
    // does not score them. They count here as soon as the server says that it has tasks.
    let mut expected = run.scenarios + run.tasks;
    if tally.has_tasks() && !declares_tasks(url) {
        expected = run.scenarios;
        let left_out = tally.leave_out_tasks();
        steps::note(&format!(
            "{name}: {left_out} `tasks-*` scenarios not counted: the server declares no tasks extension"
        ));
    }
    Ok(Verdict::of(name, run.suite, &findings, &tally, expected, exited_well))
}

/// A server that cannot be asked gets no benefit of the doubt: everything counts.
fn declares_tasks(url: &str) -> bool {
    probe::declares_tasks(url).unwrap_or_else(|failure| {
        steps::note(&failure.to_string());
        true
    })
}
