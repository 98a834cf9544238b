//! `test`: everything CI runs, in order. A failed step does not hide the next one; the last line
//! counts the steps.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::{Failure, Outcome};
use crate::steps::{self, Steps};
use crate::{bench, build, check, clients, conformance, fuzz, process, provision, workspace};

/// Seconds for each fuzz target in CI.
const FUZZ_SECONDS: &str = "5";

/// One step of the run.
struct Step {
    name: &'static str,
    when: When,
    run: fn(&Path) -> Outcome,
}

/// When a step runs that nobody names.
#[derive(PartialEq, Eq)]
enum When {
    Always,
    /// Not with `--quick`.
    Slow,
}

/// The order matters: what is cheap and likely to fail comes first, what needs the optimized build last.
const STEPS: &[Step] = &[
    Step { name: "provision", when: When::Always, run: |_| provision::run() },
    Step { name: "check", when: When::Always, run: check::run },
    Step { name: "units", when: When::Always, run: units },
    Step { name: "doctests", when: When::Always, run: doctests },
    Step { name: "build", when: When::Always, run: build::dist },
    Step { name: "conformance", when: When::Slow, run: |root| conformance::run(root, &[]) },
    Step { name: "clients", when: When::Slow, run: |root| clients::run(root, &[]) },
    Step { name: "fuzz", when: When::Slow, run: fuzz },
    Step { name: "bench", when: When::Slow, run: |root| bench::run(root, &words(&["--quick"])) },
    // Last, when nothing else is built: each of its tests measures what others feel.
    Step { name: "adversarial", when: When::Slow, run: adversarial },
];

/// Runs the chosen steps, all of them if none is named.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let chosen = choose(arguments)?;
    let mut steps = Steps::default();
    // Half of the time of a run is spent on optimizing, and tests wait a lot.
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
        let is_due = step.when == When::Always || (step.when == When::Slow && !quick);
        named || (names.is_empty() && is_due)
    };
    Ok(STEPS.iter().filter(is_chosen).collect())
}

/// Generated streams that the framing test reads in this step, other ones in each run.
const FRAMING_STREAMS: &str = "20000";

/// The fuzz targets, and the differential test of the framing with streams that it never saw.
fn fuzz(root: &Path) -> Outcome {
    fuzz::run(root, &words(&["--seconds", FUZZ_SECONDS]))?;
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = format!("{}{:09}", time.as_secs(), time.subsec_nanos());
    steps::note(&format!("GANTRY_FRAMING_SEED={seed} GANTRY_FRAMING_CASES={FRAMING_STREAMS}"));
    let mut cargo = process::cargo(root);
    // The whole workspace, as it was compiled for the other tests.
    cargo.args(["test", "--quiet", "--workspace", "--test", "http", "--"]);
    cargo.arg("framing::generated");
    cargo.envs([("GANTRY_FRAMING_SEED", &*seed), ("GANTRY_FRAMING_CASES", FRAMING_STREAMS)]);
    process::run(&mut cargo)
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

/// The hostile servers against the build that is packaged, held to the bounds that are promised. One at a
/// time, since each measures what others feel.
fn adversarial(root: &Path) -> Outcome {
    build::tests(root)?;
    build::dist(root)?;
    let mut cargo = process::cargo(root);
    // The whole workspace, as it was compiled for the other tests.
    cargo.args(["test", "--quiet", "--workspace", "--test", "adversarial"]);
    cargo.args(["--", "--test-threads", "1"]);
    cargo.env("GANTRY_PROGRAM", workspace::target(root).join("dist/gantry"));
    process::run(cargo.env("GANTRY_ADVERSARIAL", "strict"))
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
        let all = "provision check units doctests build conformance clients fuzz bench adversarial";
        let cases = [
            ("", Some(all)),
            ("--quick", Some("provision check units doctests build")),
            ("units", Some("units")),
            ("bench check", Some("check bench")),
            ("adversarial", Some("adversarial")),
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
