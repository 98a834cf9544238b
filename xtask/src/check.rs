//! `check`: all that can be said about the tree without running it.

use std::path::Path;

use crate::deny;
use crate::failure::Outcome;
use crate::process;
use crate::steps::Steps;
use crate::tidy;

/// Formatting, lints, tidy and the dependency rules; each runs even if another failed.
pub(crate) fn run(root: &Path) -> Outcome {
    let mut steps = Steps::default();
    steps.run("format", || format(root));
    steps.run("tidy", || tidy::run(root));
    steps.run("deny", || deny::run(root));
    steps.run("clippy", || clippy(root));
    steps.finish()
}

fn format(root: &Path) -> Outcome {
    process::run(process::cargo(root).args(["fmt", "--all", "--check"]))?;
    // The fuzz targets are a workspace of their own.
    let fuzz = ["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"];
    process::run(process::cargo(root).args(fuzz))
}

fn clippy(root: &Path) -> Outcome {
    process::run(process::cargo(root).args([
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}
