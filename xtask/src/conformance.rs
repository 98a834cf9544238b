//! `conformance`: the official suite, two versions of it, against the `everything` example, alone
//! and behind the gateway, and against our client. The verdict comes from the suite's own check
//! files and has no list of expected failures.

mod client;
mod layout;
mod parallel;
mod probe;
mod runs;
mod server;
mod suite;
mod tally;
mod verdict;

use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::{build, provision, steps, workspace};
use layout::{Binaries, LAYOUTS, Layout};
use parallel::side_by_side;
use runs::{CLIENT_RUNS, ClientRun, RUNS, Run};
use verdict::{HEADS, Verdict};

/// What the developer asked for.
#[derive(Default, PartialEq, Eq, Debug)]
struct Options {
    /// A server that already listens, instead of the example.
    url: Option<String>,
    /// Part of the names of the runs to do.
    only: Option<String>,
    /// A folder of programs that are built already, instead of building them.
    binaries: Option<String>,
}

/// The runs to do.
struct RunOptions {
    servers: Vec<(&'static Layout, &'static Run)>,
    clients: Vec<&'static ClientRun>,
}

/// Starts what the chosen runs need, unless told a URL, and prints a table of all counts.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = parse(arguments)?;
    let run_options = RunOptions::of(&options)?;
    provision::run()?;
    let mut verdicts = Vec::new();
    let folder = workspace::target(root).join("conformance");
    match &options.url {
        Some(url) => {
            for (layout, run) in &run_options.servers {
                verdicts.push(server::perform(layout, run, url, &folder)?);
            }
        }
        None => verdicts.extend(run_options.perform(&binaries(root, &options)?, &folder)?),
    }
    judge(verdicts)
}

impl RunOptions {
    fn of(options: &Options) -> Outcome<Self> {
        let is_chosen = |name: &str| options.only.as_ref().is_none_or(|part| name.contains(part));
        let mut servers = Vec::new();
        for layout in LAYOUTS.iter().filter(|it| options.url.is_none() || !it.is_through()) {
            let there = RUNS.iter().filter(|run| run.is_through || !layout.is_through());
            let runs = there.filter(|it| is_chosen(&layout.run_name(it.name)));
            servers.extend(runs.map(|run| (layout, run)));
        }
        let clients = CLIENT_RUNS.iter().filter(|it| options.url.is_none() && is_chosen(it.name));
        let clients: Vec<_> = clients.collect();
        if !servers.is_empty() || !clients.is_empty() {
            return Ok(Self { servers, clients });
        }
        let known: Vec<_> = RUNS.iter().map(|run| run.name).collect();
        Err(Failure::new(format!("no such run; there are {}", known.join(", "))))
    }

    /// Does all runs, side by side.
    fn perform(&self, binaries: &Binaries, folder: &Path) -> Outcome<Vec<Verdict>> {
        let servers = self.servers.iter().map(|(layout, run)| Job::Server(layout, run));
        let clients = self.clients.iter().map(|run| Job::Client(run));
        let jobs: Vec<Job> = servers.chain(clients).collect();
        side_by_side(&jobs, |job| job.perform(binaries, folder)).into_iter().collect()
    }
}

/// One run, with processes, ports and folders of its own.
enum Job {
    Server(&'static Layout, &'static Run),
    Client(&'static ClientRun),
}

impl Job {
    fn perform(&self, binaries: &Binaries, folder: &Path) -> Outcome<Verdict> {
        match self {
            Self::Server(layout, run) => {
                let home = folder.join(format!("{}-gateway", layout.run_name(run.name)));
                let subject = layout.start(binaries, &home)?;
                server::perform(layout, run, &subject.http(), folder)
            }
            Self::Client(run) => client::perform(run, &binaries.client(), folder.join(run.name)),
        }
    }
}

/// Where the programs are, built first unless the developer has done so.
fn binaries(root: &Path, options: &Options) -> Outcome<Binaries> {
    if let Some(folder) = &options.binaries {
        let folder = root.join(folder);
        return Ok(Binaries { servers: folder.clone(), client: folder });
    }
    build::dist(root)?;
    // The client as the tests have it: here it is only asked whether it is right, not how fast.
    build::tests(root)?;
    let target = workspace::target(root);
    Ok(Binaries { servers: target.join("dist"), client: target.join("debug") })
}

fn judge(verdicts: Vec<Verdict>) -> Outcome {
    let failed: Vec<String> =
        verdicts.iter().filter(|it| !it.passed).map(|it| it.run.clone()).collect();
    let rows: Vec<_> = verdicts.into_iter().map(|verdict| verdict.row).collect();
    steps::table(HEADS, &rows);
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
            "--binaries" => &mut options.binaries,
            unknown => return Err(Failure::new(format!("unexpected argument `{unknown}`"))),
        };
        let value =
            rest.next().ok_or_else(|| Failure::new(format!("`{argument}` wants a value")))?;
        *place = Some(value.clone());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: Option<&str>, only: Option<&str>) -> Options {
        Options { url: url.map(str::to_owned), only: only.map(str::to_owned), binaries: None }
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
        let chosen = |url, part| {
            let run_options = RunOptions::of(&options(url, part)).ok()?;
            Some((run_options.servers.len(), run_options.clients.len()))
        };
        let cases = [
            (None, None, Some((13, 2))),
            (None, Some("required"), Some((8, 0))),
            (None, Some("through-legacy"), Some((2, 0))),
            (None, Some("2026"), Some((5, 1))),
            (None, Some("client"), Some((0, 2))),
            (Some("u"), None, Some((7, 0))),
            (Some("u"), Some("through"), None),
            (None, Some("x"), None),
        ];
        for (url, part, expected) in cases {
            assert_eq!(chosen(url, part), expected, "{url:?} {part:?}");
        }
    }
}
