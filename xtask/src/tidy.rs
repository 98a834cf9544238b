//! `tidy`: the rules of this repository that no compiler checks. Each kind of rule is a file in
//! this module's folder; none has a list of exceptions.

mod documents;
mod layers;
mod links;
mod names;
mod places;
mod shape;

use std::fmt;
use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::steps;
use crate::workspace;

/// A file of the tree that can be read as text.
struct Source {
    /// Relative to the root, with forward slashes.
    path: String,
    text: String,
}

/// One breach of one rule.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    path: String,
    /// Counted from one; zero stands for the file as a whole.
    line: usize,
    message: String,
}

/// Checks every file that git tracks or would track.
pub(crate) fn run(root: &Path) -> Outcome {
    let sources = read_sources(root)?;
    let mut complaints: Vec<Complaint> = Vec::new();
    for source in &sources {
        complaints.extend(shape::check(source));
        complaints.extend(places::check(source));
        complaints.extend(names::check(source));
        complaints.extend(documents::check_paths(source, |path| root.join(path).exists()));
    }
    complaints.extend(layers::check(&sources)?);
    complaints.extend(names::check_files(&sources));
    complaints.extend(links::check(&sources, |path| root.join(path).exists()));
    complaints.extend(documents::check_seeds(&sources));
    complaints.extend(documents::check_dependencies(&sources)?);
    for complaint in &complaints {
        steps::note(&complaint.to_string());
    }
    if complaints.is_empty() {
        steps::note(&format!("{} files", sources.len()));
        return Ok(());
    }
    Err(Failure::new(format!("tidy: {} complaints", complaints.len())))
}

/// All text files; what is not UTF-8 is a picture or the like and has no rules.
fn read_sources(root: &Path) -> Outcome<Vec<Source>> {
    let files = workspace::files(root)?;
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(root.join(file)).ok()?;
        Some(Source { path: file.to_string_lossy().replace('\\', "/"), text })
    };
    Ok(files.iter().filter_map(read).collect())
}

impl Source {
    fn complaint(&self, line: usize, message: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, message: message.into() }
    }

    fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.path, self.message),
            line => write!(formatter, "{}:{line}: {}", self.path, self.message),
        }
    }
}

#[cfg(test)]
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
