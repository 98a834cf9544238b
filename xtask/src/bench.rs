//! `bench`: the load generator of `bench/`, after building what it measures.

use std::path::Path;

use crate::build;
use crate::failure::Outcome;
use crate::process;
use crate::provision;
use crate::workspace;

/// Builds what is measured, then hands every argument to the load generator.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    build::dist(root)?;
    // `run` builds one program only, and the bench also starts the tool that it measures.
    build::bench(root)?;
    let mut bench = process::cargo(root);
    bench.args(["run", "--quiet", "--profile", "dist", "--package", "gantry-bench", "--"]);
    let cache = workspace::cache()?;
    let uv = provision::uv(&cache);
    bench.args(arguments);
    let given = |option| arguments.iter().any(|it| it.starts_with(option));
    if uv.exists() && !given("--uv") {
        bench.arg("--uv").arg(uv);
    }
    if !given("--peers") {
        bench.arg("--peers").arg(cache);
    }
    process::run(&mut bench)
}
