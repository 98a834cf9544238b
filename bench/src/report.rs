//! The report as Markdown: a section for each thing measured, then goals and service levels with a
//! verdict on each line.

use std::fmt::Write;

use crate::fault::Fault;
use crate::goals::{GOALS, Goal, Level, PROMISES, Row};

/// One table.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) head: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
    /// A sentence below the table.
    pub(crate) note: String,
}

/// A bar of the plot: what, and CPU microseconds.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: f64,
    pub(crate) ours: bool,
}

/// All that a run found out.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) sections: Vec<Section>,
    pub(crate) bars: Vec<Bar>,
    figures: Vec<(Row, f64)>,
    levels: Vec<(Level, f64)>,
    /// Why something could not be measured, and what.
    gaps: Vec<(String, Vec<String>)>,
}

/// What a figure means for its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Reached,
    Within,
    Exceeded,
    Missing,
}

impl Report {
    /// Notes a figure that has a goal; of several for one row the worst counts.
    pub(crate) fn figure(&mut self, row: Row, value: f64) {
        self.figures.push((row, value));
    }

    /// Notes a figure that a service level speaks of.
    pub(crate) fn level(&mut self, level: Level, value: f64) {
        self.levels.push((level, value));
    }

    /// Notes that something could not be measured; one reason is told once.
    pub(crate) fn gap(&mut self, what: &str, fault: &Fault) {
        let reason = fault.to_string();
        let what = what.to_owned();
        match self.gaps.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) if all.contains(&what) => {}
            Some((_, all)) => all.push(what),
            None => self.gaps.push((reason, vec![what])),
        }
    }

    /// The rows that fail a run: those with a gate that exceed their limit or were not measured.
    pub(crate) fn broken(&self) -> Vec<&'static Goal> {
        let fails = |goal: &&Goal| {
            goal.gate && matches!(self.verdict(goal).0, Verdict::Exceeded | Verdict::Missing)
        };
        GOALS.iter().filter(fails).collect()
    }

    /// The whole report.
    pub(crate) fn markdown(&self) -> String {
        let mut out = String::new();
        for section in &self.sections {
            table(&mut out, &section.title, section.head, &section.rows);
            if !section.note.is_empty() {
                out.push_str(&section.note);
                out.push_str("\n\n");
            }
        }
        let head = ["row", "goal", "must not exceed", "measured", "verdict"];
        table(&mut out, "Goals", &head, &self.goal_rows());
        let head = ["service level", "promised", "measured", "verdict"];
        table(&mut out, "Service levels", &head, &self.promise_rows());
        if !self.gaps.is_empty() {
            out.push_str("## Not measured\n\n");
            for (reason, what) in &self.gaps {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "- {}: {reason}", what.join(", "));
            }
        }
        out
    }

    fn verdict(&self, goal: &Goal) -> (Verdict, f64) {
        let values =
            self.figures.iter().filter(|(row, _)| *row == goal.row).map(|(_, value)| *value);
        let Some(worst) = values.max_by(f64::total_cmp) else {
            return (Verdict::Missing, f64::NAN);
        };
        let verdict = if worst <= goal.goal {
            Verdict::Reached
        } else if worst <= goal.limit {
            Verdict::Within
        } else {
            Verdict::Exceeded
        };
        (verdict, worst)
    }

    fn goal_rows(&self) -> Vec<Vec<String>> {
        let row = |goal: &Goal| {
            let (verdict, value) = self.verdict(goal);
            let words = match verdict {
                Verdict::Reached => "goal reached",
                Verdict::Within => "within the limit",
                Verdict::Exceeded if goal.gate => "**exceeded**",
                Verdict::Exceeded => "exceeded (not a gate)",
                Verdict::Missing => "not measured",
            };
            let unit = goal.unit;
            let measured =
                if verdict == Verdict::Missing { "-".to_owned() } else { unit.write(value) };
            let (aim, limit) = (unit.write(goal.goal), unit.write(goal.limit));
            vec![goal.text.to_owned(), aim, limit, measured, words.to_owned()]
        };
        GOALS.iter().map(row).collect()
    }

    fn promise_rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for promise in PROMISES {
            let value = self.levels.iter().find(|(level, _)| *level == promise.level);
            let (measured, verdict) = match value {
                Some((_, value)) if promise.bound.holds(*value) => {
                    (promise.bound.write(*value), "met")
                }
                Some((_, value)) => (promise.bound.write(*value), "**not met**"),
                None => ("-".to_owned(), "not measured"),
            };
            let words = promise.bound.words();
            rows.push(vec![promise.text.to_owned(), words, measured, verdict.to_owned()]);
        }
        rows
    }
}

/// Writes a Markdown table whose columns line up, so that it reads well in a terminal too.
fn table(out: &mut String, title: &str, head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].len(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:width$} "));
        format!("|{}|\n", padded.collect::<Vec<_>>().join("|"))
    };
    let head: Vec<String> = head.iter().map(|it| (*it).to_owned()).collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    // Writing to a string cannot fail.
    let _ = write!(out, "## {title}\n\n{}{}", line(&head), line(&rule));
    for row in rows {
        out.push_str(&line(row));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(row: Row, value: f64) -> Report {
        let mut report = Report::default();
        for goal in GOALS {
            report.figure(goal.row, goal.goal);
        }
        report.figure(row, value);
        report
    }

    #[test]
    fn only_a_gated_row_over_its_limit_breaks_a_run() {
        for (row, value, broken) in [
            (Row::Binary, 11.0, 0),
            (Row::Binary, 29.0, 0),
            (Row::Binary, 31.0, 1),
            (Row::Tail, 9.0, 0),
            (Row::List, f64::NAN, 1),
        ] {
            assert_eq!(report(row, value).broken().len(), broken, "{row:?} {value}");
        }
    }

    #[test]
    fn what_was_not_measured_does_not_pass() {
        let gates = GOALS.iter().filter(|goal| goal.gate).count();
        assert_eq!(Report::default().broken().len(), gates);
        assert!(Report::default().markdown().contains("not measured"));
    }
}
