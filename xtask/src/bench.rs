//! `bench`: the load generator of `bench/`, after building in release what it measures.

use std::path::Path;

use crate::everything;
use crate::failure::Outcome;
use crate::process;

/// Builds what is measured, then hands every argument to the load generator.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    everything::build(root)?;
    process::run(
        process::cargo(root)
            .args(["run", "--quiet", "--release", "--package", "gantry-bench", "--"])
            .args(arguments),
    )
}
