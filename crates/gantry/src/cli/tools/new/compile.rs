//! Compiles the source of a new tool, so that it can be called at once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use gantry_process::{Child, ChildLimits, End, Program, StartError};

use crate::cli::exit::{Code, Exit};
use crate::cli::render;

/// How long a compiler may take for a page of source.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Runs `compiler` in the folder: it makes `program` of `source`.
pub(super) async fn run(
    folder: &Path,
    compiler: &[&str],
    source: &str,
    program: &str,
) -> Result<(), Exit> {
    let line = format!("{} -o {program} {source}", compiler.join(" "));
    render::say(&format!("compiling: {line}"));
    let again = format!("in {}, run: {line}", folder.display());
    let mut words = line.split(' ').map(str::to_owned);
    let command = Program {
        program: words.next().map(PathBuf::from).unwrap_or_default(),
        args: words.collect(),
        env: std::env::vars().collect(),
        directory: Some(folder.to_owned()),
        memory: None,
    };
    let child = Child::start(&command, &ChildLimits::default()).map_err(|error| {
        let missing = matches!(error, StartError::NotFound(_));
        let code = if missing { Code::Unreachable } else { Code::Failed };
        Exit::new(code, format!("the compiler could not be started: {error}")).hint(&*again)
    })?;
    let finished = child.finish(Bytes::new(), TIMEOUT).await;
    if finished.end == End::Exited(0) {
        return Ok(());
    }
    let text = format!("the compiler failed: {}", finished.stderr.trim());
    Err(Exit::new(Code::Failed, text).hint(again))
}
