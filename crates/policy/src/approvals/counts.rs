//! How many calls waited for a person, by how that ended.

use std::fmt::Write;

use super::pending::Verdict;

/// Calls that wait no longer, by how their wait ended.
#[derive(Debug, Default)]
pub(super) struct Counts([u64; Verdict::ALL.len()]);

impl Counts {
    pub(super) fn add(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }

    /// Writes them with the number of those that wait, as Prometheus reads it. There is no label
    /// but the outcome: names of callers and tools have no limit.
    pub(super) fn write(&self, waiting: usize, out: &mut String) {
        let _ = write!(
            out,
            "# HELP gantry_approvals_pending Calls that wait for a person.\n\
             # TYPE gantry_approvals_pending gauge\n\
             gantry_approvals_pending {waiting}\n\
             # HELP gantry_approvals_total Calls that waited for a person, by how that ended.\n\
             # TYPE gantry_approvals_total counter\n"
        );
        for (verdict, count) in Verdict::ALL.iter().zip(self.0) {
            let outcome = verdict.as_str();
            let _ = writeln!(out, "gantry_approvals_total{{outcome=\"{outcome}\"}} {count}");
        }
    }
}
