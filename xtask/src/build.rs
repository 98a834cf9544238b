//! What is compiled before anything runs. Cargo chooses the features of every crate by what is asked
//! for together, so what is asked for apart is compiled apart; each profile has one question here.

use std::path::Path;

use crate::failure::Outcome;
use crate::process;

/// Everything that tests run and are, with the features of tests.
pub(crate) fn tests(root: &Path) -> Outcome {
    process::run(process::cargo(root).args(["build", "--quiet", "--workspace", "--all-targets"]))
}
