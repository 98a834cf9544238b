//! The problems found so far.

use std::path::Path;

use crate::scripts::manifest::Problem;
use crate::tool_spec::read::problem;

/// The most problems that are told: beyond, a document is wrong as a whole.
const MOST: usize = 1000;

/// The problems of one document.
pub(in crate::tool_spec) struct Findings<'a> {
    file: &'a Path,
    list: Vec<Problem>,
}

impl<'a> Findings<'a> {
    pub(in crate::tool_spec) fn new(file: &'a Path) -> Self {
        Self { file, list: Vec::new() }
    }

    /// Adds a problem; false when there are so many that no more is told.
    pub(super) fn add(
        &mut self,
        line: usize,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> bool {
        if !self.is_full() {
            self.list.push(problem(self.file, Some(line), message, advice));
        }
        !self.is_full()
    }

    /// Whether no more is told. Asked before lines are counted, which takes time.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// All problems in the order of their lines.
    pub(in crate::tool_spec) fn finish(mut self, last: Option<Problem>) -> Vec<Problem> {
        self.list.extend(last);
        self.list.sort_by_key(|problem| problem.line);
        self.list
    }
}
