//! `conformance`: the official suite, two versions of it, against the `everything` example. The
//! verdict comes from the suite's own check files and has no list of expected failures.

mod probe;
mod runs;
mod tally;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::everything::{self, Everything};
use crate::failure::{Failure, Outcome};
use crate::process::{self, Group};
use crate::{provision, steps, workspace};
use runs::{RUNS, Run};
use tally::Tally;

/// Far above what a run takes; a run that reaches it hangs.
const RUN_LIMIT: Duration = Duration::from_secs(600);

/// What the developer asked for.
#[derive(Default, PartialEq, Eq, Debug)]
struct Options {
    /// A server that already listens, instead of the example.
    url: Option<String>,
    /// Part of the names of the runs to do.
    only: Option<String>,
}

/// Starts the example unless told a URL, does the chosen runs, prints a table of all counts.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = parse(arguments)?;
    let chosen: Vec<&Run> = RUNS.iter().filter(|run| is_chosen(run, &options)).collect();
    if chosen.is_empty() {
        let known: Vec<_> = RUNS.iter().map(|run| run.name).collect();
        return Err(Failure::new(format!("no such run; there are {}", known.join(", "))));
    }
    provision::run()?;
    let subject = match &options.url {
        Some(_) => None,
        None => {
            everything::build(root)?;
            Some(Everything::start(root)?)
        }
    };
    let url = options.url.or_else(|| subject.as_ref().map(Everything::http));
    let url = url.expect("either a URL was given or the example was started");

    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for run in chosen {
        let (row, passed) = perform(root, run, &url)?;
        rows.push(row);
        if !passed {
            failed.push(run.name);
        }
    }
    steps::table(
        &["run", "suite", "scenarios", "success", "failure", "warning", "skipped", "result"],
        &rows,
    );
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("conformance failed: {}", failed.join(", "))))
}

fn parse(arguments: &[String]) -> Outcome<Options> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let place = match argument.as_str() {
            "--url" => &mut options.url,
            "--only" => &mut options.only,
            unknown => return Err(Failure::new(format!("unexpected argument `{unknown}`"))),
        };
        let value =
            rest.next().ok_or_else(|| Failure::new(format!("`{argument}` wants a value")))?;
        *place = Some(value.clone());
    }
    Ok(options)
}

fn is_chosen(run: &Run, options: &Options) -> bool {
    options.only.as_ref().is_none_or(|part| run.name.contains(part.as_str()))
}

/// One run: its row of the table, and whether it passed.
fn perform(root: &Path, run: &Run, url: &str) -> Outcome<(Vec<String>, bool)> {
    let folder = workspace::target(root).join("conformance").join(run.name);
    let exited_well = call_suite(run, url, &folder)?;
    let mut tally = Tally::of(&folder)?;
    // The suite runs the tasks extension's scenarios with the required ones of this revision, but
    // does not score them. They count here as soon as the server says that it has tasks.
    let mut expected = run.scenarios + run.tasks;
    if tally.has_tasks() && !declares_tasks(url) {
        expected = run.scenarios;
        let left_out = tally.leave_out_tasks();
        steps::note(&format!(
            "{}: {left_out} `tasks-*` scenarios not counted: the server declares no tasks extension",
            run.name
        ));
    }
    for problem in tally.problems() {
        steps::note(&format!("{}: {problem}", run.name));
    }
    let complete = tally.scenarios() >= expected;
    if !complete {
        let text = format!("{}: only {} of {expected} scenarios ran", run.name, tally.scenarios());
        steps::note(&text);
    }
    if !exited_well {
        steps::note(&format!(
            "{}: the suite ended without success; see `{}`",
            run.name,
            log_of(&folder).display()
        ));
    }
    let passed = exited_well && complete && tally.is_clean();
    Ok((row(run, &tally, expected, passed), passed))
}

/// A server that cannot be asked gets no benefit of the doubt: everything counts.
fn declares_tasks(url: &str) -> bool {
    probe::declares_tasks(url).unwrap_or_else(|failure| {
        steps::note(&failure.to_string());
        true
    })
}

fn row(run: &Run, tally: &Tally, expected: usize, passed: bool) -> Vec<String> {
    let [success, failure, warning, skipped] = tally.counts().map(|count| count.to_string());
    let scenarios = format!("{}/{expected}", tally.scenarios());
    let verdict = if passed { "passed" } else { "FAILED" };
    vec![
        run.name.into(),
        run.suite.into(),
        scenarios,
        success,
        failure,
        warning,
        skipped,
        verdict.into(),
    ]
}

/// Runs the suite into a fresh folder and says whether it exited with success.
fn call_suite(run: &Run, url: &str, folder: &Path) -> Outcome<bool> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|source| Failure::file(folder, source))?;
    }
    fs::create_dir_all(folder).map_err(|source| Failure::file(folder, source))?;
    let log_path = log_of(folder);
    let log = File::create(&log_path).map_err(|source| Failure::file(&log_path, source))?;
    let errors = log.try_clone().map_err(|source| Failure::file(&log_path, source))?;

    let cache = workspace::cache()?;
    let mut suite = process::command(provision::node(&cache));
    suite
        .arg(provision::conformance(&cache, run.suite))
        .args(["server", "--url", url])
        .args(run.arguments)
        .arg("-o")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors);
    let ended = Group::start(&mut suite)?.wait(RUN_LIMIT)?;
    let status = ended.ok_or_else(|| Failure::new(format!("{} did not end in time", run.name)))?;
    Ok(status.success())
}

fn log_of(folder: &Path) -> PathBuf {
    folder.with_extension("log")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: Option<&str>, only: Option<&str>) -> Options {
        Options { url: url.map(str::to_owned), only: only.map(str::to_owned) }
    }

    #[test]
    fn arguments() {
        let cases = [
            ("", Some(options(None, None))),
            ("--url http://h/mcp", Some(options(Some("http://h/mcp"), None))),
            ("--only all --url u", Some(options(Some("u"), Some("all")))),
            ("--only", None),
            ("all", None),
        ];
        for (line, expected) in cases {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(parse(&arguments).ok(), expected, "{line}");
        }
    }

    #[test]
    fn only_selects_by_part_of_the_name() {
        let chosen = |part| RUNS.iter().filter(|run| is_chosen(run, &options(None, part))).count();
        assert_eq!(
            [chosen(None), chosen(Some("required")), chosen(Some("2026")), chosen(Some("x"))],
            [7, 2, 2, 0]
        );
    }
}
