//! `fuzz`: every target of `fuzz/` for a few seconds, on the stable toolchain. The coverage
//! instrumentation is a plain code generation flag and libFuzzer is linked by the crate itself,
//! so neither a nightly compiler nor another cargo subcommand is needed.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::steps;
use crate::workspace;

/// What libFuzzer needs to see: edges, compared values, and a table to map them back.
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks";

/// The longest input that libFuzzer makes up.
const INPUT_LIMIT: u32 = 65_536;

/// An input that takes longer than this many seconds is a finding.
const INPUT_SECONDS: u32 = 5;

/// Parses the arguments, builds all targets and runs the chosen ones.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let (seconds, wanted) = parse(arguments)?;
    let manifest = root.join("fuzz/Cargo.toml");
    let targets = targets_in(&workspace::read(&manifest)?)?;
    if let Some(unknown) = wanted.iter().find(|name| !targets.contains(name)) {
        return Err(Failure::new(format!(
            "no fuzz target `{unknown}`; there are {}",
            targets.join(", ")
        )));
    }
    let host = host()?;
    let begun = Instant::now();
    build(root, &manifest, &host)?;
    steps::note(&format!("built {} targets in {:.0?}", targets.len(), begun.elapsed()));
    let is_chosen = |name: &&String| wanted.is_empty() || wanted.contains(name);
    let chosen: Vec<&String> = targets.iter().filter(is_chosen).collect();
    let findings = run_all(&chosen, |target| run_target(root, target, &host, seconds));
    if findings.is_empty() { Ok(()) } else { Err(Failure::new(findings.join("\n"))) }
}

/// Runs every target and tells what was found. Each keeps one core busy, so as many run side by
/// side as there are.
fn run_all(targets: &[&String], run: impl Fn(&str) -> Outcome + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut findings = Vec::new();
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            match run(target) {
                Ok(()) => steps::note(&format!("{target}: nothing found")),
                Err(failure) => findings.push(format!("{target}: {failure}")),
            }
        }
        findings
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|it| it.join().expect("running never panics")).collect()
    })
}

fn parse(arguments: &[String]) -> Outcome<(u32, Vec<String>)> {
    let mut seconds = 60;
    let mut targets = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let number =
                rest.next().and_then(|text| text.parse().ok()).filter(|&number| number > 0);
            seconds =
                number.ok_or_else(|| Failure::new("`--seconds` wants a number above zero"))?;
        } else {
            targets.push(argument.clone());
        }
    }
    Ok((seconds, targets))
}

/// The names of all `[[bin]]` tables of the fuzz crate.
fn targets_in(manifest: &str) -> Outcome<Vec<String>> {
    let manifest: toml::Table =
        manifest.parse().map_err(|source| Failure::new(format!("fuzz/Cargo.toml: {source}")))?;
    let binaries = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    let names = binaries.filter_map(|binary| binary.get("name")?.as_str().map(str::to_owned));
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return Err(Failure::new("fuzz/Cargo.toml has no `[[bin]]` targets"));
    }
    Ok(names)
}

fn build(root: &Path, manifest: &Path, host: &str) -> Outcome {
    process::run(
        process::cargo(root)
            .args(["build", "--quiet", "--release", "--bins", "--manifest-path"])
            .arg(manifest)
            // With an explicit target the flags stay away from build scripts and macros.
            .args(["--target", host, "--target-dir"])
            .arg(output(root))
            .env("RUSTFLAGS", INSTRUMENTATION),
    )
}

fn run_target(root: &Path, target: &str, host: &str, seconds: u32) -> Outcome {
    let corpus = output(root).join("corpus").join(target);
    let findings = output(root).join("findings").join(target);
    for folder in [&corpus, &findings] {
        fs::create_dir_all(folder).map_err(|source| Failure::file(folder, source))?;
    }
    let log_path = output(root).join(format!("{target}.log"));
    let log = fs::File::create(&log_path).map_err(|source| Failure::file(&log_path, source))?;
    let mut fuzzer = process::command(output(root).join(host).join("release").join(target));
    fuzzer
        .current_dir(root)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_LIMIT}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        // New inputs go to the first folder; seeds of the tree are only read.
        .arg(&corpus);
    let seeds = root.join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        fuzzer.arg(seeds);
    }
    process::run_logged(&mut fuzzer, &log).map_err(|failure| {
        Failure::new(format!(
            "{failure}; the input is in `{}`, the report in `{}`",
            findings.display(),
            log_path.display()
        ))
    })
}

fn output(root: &Path) -> PathBuf {
    workspace::target(root).join("fuzz")
}

/// The triple of this machine, as the compiler names it.
pub(crate) fn host() -> Outcome<String> {
    let version = process::capture(process::command("rustc").arg("-vV"))?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| Failure::new("`rustc -vV` names no host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments() {
        let cases = [
            ("", Some((60, ""))),
            ("--seconds 10", Some((10, ""))),
            ("lines --seconds 3 edit", Some((3, "lines edit"))),
            ("--seconds", None),
            ("--seconds 0", None),
            ("--seconds soon", None),
        ];
        for (line, expected) in cases {
            let parsed = parse(&words(line)).ok();
            assert_eq!(parsed, expected.map(|(seconds, names)| (seconds, words(names))), "{line}");
        }
    }

    #[test]
    fn every_target_runs_and_no_finding_is_lost() {
        let targets: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let runs = AtomicUsize::new(0);
        let mut findings = run_all(&targets.iter().collect::<Vec<_>>(), |target| {
            runs.fetch_add(1, Ordering::Relaxed);
            if target.ends_with('7') { Err(Failure::new("broken")) } else { Ok(()) }
        });
        findings.sort();
        assert_eq!(findings, ["17: broken", "7: broken"]);
        assert_eq!(runs.into_inner(), 20);
    }

    #[test]
    fn targets_are_read_from_the_manifest() {
        let manifest = "[[bin]]\nname = \"edit\"\n[[bin]]\nname = \"lines\"\n";
        assert_eq!(targets_in(manifest).expect("two targets"), ["edit", "lines"]);
        assert!(targets_in("[package]\nname = \"fuzz\"\n").is_err());
    }
}
