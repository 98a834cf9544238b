//! `test`: everything CI runs, in order. A failed step does not hide the next one; the last line
//! counts the steps.

use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::steps::Steps;
use crate::{bench, build, check, clients, conformance, fuzz, process, provision};

/// Seconds for each fuzz target in CI.
const FUZZ_SECONDS: &str = "5";

/// One step of the run.
struct Step {
    name: &'static str,
    /// Left out by `--quick`.
    slow: bool,
    run: fn(&Path) -> Outcome,
}

/// The order matters: what is cheap and likely to fail comes first, what needs the release build last.
const STEPS: &[Step] = &[
    Step { name: "provision", slow: false, run: |_| provision::run() },
    Step { name: "check", slow: false, run: check::run },
    Step { name: "units", slow: false, run: units },
    Step { name: "doctests", slow: false, run: doctests },
    Step { name: "build", slow: false, run: build::release },
    Step { name: "conformance", slow: true, run: |root| conformance::run(root, &[]) },
    Step { name: "clients", slow: true, run: |root| clients::run(root, &[]) },
    Step {
        name: "fuzz",
        slow: true,
        run: |root| fuzz::run(root, &words(&["--seconds", FUZZ_SECONDS])),
    },
    Step { name: "bench", slow: true, run: |root| bench::run(root, &words(&["--quick"])) },
];

/// Runs the chosen steps, all of them if none is named.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let chosen = choose(arguments)?;
    let mut steps = Steps::default();
    // Half of the time of a run is spent on compiling in release, and tests wait a lot.
    let is_whole = ["units", "build", "bench"].iter().all(|name| has(&chosen, name));
    let _ahead = is_whole.then(|| build::Ahead::start(root));
    for step in chosen {
        steps.run(step.name, || (step.run)(root));
    }
    steps.finish()
}

fn has(chosen: &[&Step], name: &str) -> bool {
    chosen.iter().any(|step| step.name == name)
}

fn choose(arguments: &[String]) -> Outcome<Vec<&'static Step>> {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|argument| *argument != "--quick").collect();
    for name in &names {
        if !STEPS.iter().any(|step| step.name == name.as_str()) {
            let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            return Err(Failure::new(format!("no step `{name}`; there are {}", known.join(", "))));
        }
    }
    let is_chosen = |step: &&Step| {
        let named = names.iter().any(|name| *name == step.name);
        named || (names.is_empty() && !(quick && step.slow))
    };
    Ok(STEPS.iter().filter(is_chosen).collect())
}

/// All tests but those in documentation, by nextest where it is installed.
fn units(root: &Path) -> Outcome {
    // Some tests run the programs themselves, which no test target builds.
    build::tests(root)?;
    let mut cargo = process::cargo(root);
    if process::available("cargo-nextest", &["nextest", "--version"]) {
        cargo.args(["nextest", "run", "--workspace", "--no-fail-fast", "--cargo-quiet"]);
        cargo.args(["--status-level", "slow", "--final-status-level", "fail"]);
    } else {
        cargo.args(["test", "--quiet", "--workspace", "--no-fail-fast"]);
        cargo.args(["--lib", "--bins", "--tests", "--examples"]);
    }
    process::run(&mut cargo)
}

fn doctests(root: &Path) -> Outcome {
    process::run(process::cargo(root).args(["test", "--quiet", "--workspace", "--doc"]))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choosing_steps() {
        let all = "provision check units doctests build conformance clients fuzz bench";
        let cases = [
            ("", Some(all)),
            ("--quick", Some("provision check units doctests build")),
            ("units", Some("units")),
            ("bench check", Some("check bench")),
            ("--quick fuzz", Some("fuzz")),
            ("unit", None),
        ];
        for (line, expected) in cases {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let chosen = choose(&arguments).ok();
            let names = chosen
                .map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>().join(" "));
            assert_eq!(names.as_deref(), expected, "{line}");
        }
    }
}
