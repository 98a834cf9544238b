//! What is compiled before anything runs. Cargo chooses the features of every crate by what is asked
//! for together, so what is asked for apart is compiled apart: each thing here is one question, which
//! every step asks in the same words.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Outcome;
use crate::process::{self, Group};
use crate::workspace;

/// The product and the example that the suite and the clients talk to.
const DIST: &str = "build --quiet --profile dist --package gantry-cli --package gantry --bins --example everything";
/// The load generator, and the programs that it starts.
const BENCH: &str = "build --quiet --profile dist --package gantry-bench --bins";
/// The product as the README builds it.
const RELEASE: &str = "build --quiet --release --package gantry-cli --bins";
/// Everything that tests run and are, with the features of tests.
const TESTS: &str = "build --quiet --workspace --all-targets";

/// Compiles the product and the example as they are packaged.
pub(crate) fn dist(root: &Path) -> Outcome {
    process::run(&mut ask(root, DIST))
}

/// Compiles the product as the README does, and says where it is.
pub(crate) fn release(root: &Path) -> Outcome<PathBuf> {
    process::run(&mut ask(root, RELEASE))?;
    Ok(workspace::target(root).join("release/gantry"))
}

/// Compiles the load generator in the same way.
pub(crate) fn bench(root: &Path) -> Outcome {
    process::run(&mut ask(root, BENCH))
}

/// Compiles everything that tests run and are.
pub(crate) fn tests(root: &Path) -> Outcome {
    process::run(&mut ask(root, TESTS))
}

fn ask(root: &Path, question: &str) -> Command {
    let mut cargo = process::cargo(root);
    cargo.args(question.split(' '));
    cargo
}

/// Compiles what is packaged while other steps run, with what they leave of the processors. Whoever needs
/// it asks again, waits for cargo's lock, and hears of whatever is wrong. It ends when dropped.
pub(crate) struct Ahead {
    /// Held for its `Drop`; none if it could not be started, which costs time and nothing else.
    _group: Option<Group>,
}

impl Ahead {
    /// Begins.
    pub(crate) fn start(root: &Path) -> Self {
        let cargo = process::cargo(root);
        let line = format!("\"$0\" {DIST} && \"$0\" {BENCH}");
        let mut idle = process::command("nice");
        idle.args(["-n", "19", "sh", "-c", &line]).arg(cargo.get_program()).current_dir(root);
        idle.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { _group: Group::start(&mut idle).ok() }
    }
}
