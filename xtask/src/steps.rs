//! What a developer sees: one line as a step begins, one as it ends, a table and a count at the
//! end. The only file here that prints.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "xtask talks to a developer, not to a protocol"
)]

use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};

/// Steps that go on after one of them failed, and what became of each.
#[derive(Default)]
pub(crate) struct Steps {
    finished: Vec<Finished>,
}

struct Finished {
    name: &'static str,
    took: Duration,
    failure: Option<Failure>,
}

impl Steps {
    /// Runs one step and remembers its outcome.
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Outcome) {
        println!("==> {name}");
        let begun = Instant::now();
        let failure = step().err();
        let took = begun.elapsed();
        match &failure {
            None => println!("==> {name}: passed in {}", seconds(took)),
            Some(failure) => println!("==> {name}: FAILED in {}: {failure}", seconds(took)),
        }
        self.finished.push(Finished { name, took, failure });
    }

    /// Prints the summary; fails if any step did.
    pub(crate) fn finish(self) -> Outcome {
        let rows = self.finished.iter().map(|step| {
            let verdict = if step.failure.is_none() { "passed" } else { "FAILED" };
            vec![step.name.to_owned(), verdict.to_owned(), seconds(step.took)]
        });
        println!();
        table(&["step", "result", "time"], &rows.collect::<Vec<_>>());
        let failed = self.finished.iter().filter(|step| step.failure.is_some()).count();
        let summary = format!("{} passed, {failed} failed", self.finished.len() - failed);
        println!("\n{summary}");
        if failed == 0 { Ok(()) } else { Err(Failure::told(summary)) }
    }
}

/// One line of progress inside a step.
pub(crate) fn note(text: &str) {
    println!("    {text}");
}

/// Why the program ends without success.
pub(crate) fn complain(failure: &Failure) {
    if !failure.is_told() {
        eprintln!("xtask: {failure}");
    }
}

/// A table with columns as wide as their widest cell.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) {
    for line in table_lines(heads, rows) {
        println!("{line}");
    }
}

fn table_lines(heads: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&heads]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(&heads).chain(rows).map(line).collect()
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [vec!["a".to_owned(), "long".to_owned()], vec!["bcd".to_owned(), "x".to_owned()]];
        assert_eq!(table_lines(&["h", "i"], &rows), ["h    i", "a    long", "bcd  x"]);
    }

    #[test]
    fn a_failed_step_does_not_stop_the_next() {
        let mut steps = Steps::default();
        let mut reached = false;
        steps.run("first", || Err(Failure::new("broken")));
        steps.run("second", || {
            reached = true;
            Ok(())
        });
        assert!(reached);
        let failure = steps.finish().expect_err("the first step failed");
        assert_eq!(failure.to_string(), "1 passed, 1 failed");
    }
}
