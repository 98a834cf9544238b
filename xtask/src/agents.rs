//! `agents`: real agents and agent libraries of other projects in front of the gateway, by the data and
//! the scripts of `tests/agents`. Not part of `test`, since the programs are large.

mod fill;
mod libraries;
mod manifest;
mod run_fixture;
mod turn;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Map;

use crate::failure::{Failure, Outcome};
use crate::provision::{self, Set};
use crate::{build, steps, workspace};
use manifest::{Scenario, Transport};
use run_fixture::RunFixture;

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    libraries: bool,
    /// Part of a scenario's name.
    only: Option<String>,
    transport: Option<Transport>,
    /// A `gantry` that was built already.
    binary: Option<PathBuf>,
    names: Vec<String>,
}

/// What every run needs.
struct Places<'run> {
    root: &'run Path,
    cache: &'run Path,
    gantry: &'run Path,
}

/// Runs the named agents, or libraries, all of them if none is named, and prints a table.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let wishes = Wishes::read(arguments)?;
    let set = if wishes.libraries { Set::Libraries } else { Set::Agents };
    provision::run_with(set)?;
    let cache = workspace::cache()?;
    let gantry = match &wishes.binary {
        Some(binary) => root.join(binary),
        None => build::release(root)?,
    };
    let places = Places { root, cache: &cache, gantry: &gantry };
    let rows = if wishes.libraries {
        libraries::run(&places, &wishes)?
    } else {
        run_agents(&places, &wishes)?
    };
    finish(rows, if wishes.libraries { "step" } else { "scenario" })
}

/// One line of the table.
struct Row {
    name: String,
    transport: Transport,
    what: String,
    /// From the start of the program to its end.
    took: Duration,
    /// Why it failed, or what is worth knowing of a run that passed.
    outcome: Result<String, String>,
}

fn finish(rows: Vec<Row>, what: &str) -> Outcome {
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    let total = rows.len();
    let lines: Vec<Vec<String>> = rows.into_iter().map(Row::cells).collect();
    steps::table(&["who", "transport", what, "seconds", "result", "why"], &lines);
    match failed {
        0 if total == 0 => Err(Failure::new("nothing was run: no name and scenario fits")),
        0 => Ok(()),
        _ => Err(Failure::new(format!("{failed} of {total} runs failed"))),
    }
}

impl Row {
    fn cells(self) -> Vec<String> {
        let (result, why) = match self.outcome {
            Ok(remark) => ("passed", remark),
            Err(reason) => ("FAILED", reason),
        };
        let seconds = format!("{:.1}", self.took.as_secs_f64());
        vec![
            self.name,
            self.transport.name().to_owned(),
            self.what,
            seconds,
            result.to_owned(),
            why,
        ]
    }
}

fn run_agents(places: &Places, wishes: &Wishes) -> Outcome<Vec<Row>> {
    let root = places.root;
    let agents = manifest::agents(root)?;
    wishes.know(agents.iter().map(|agent| agent.name.as_str()))?;
    let scenarios = manifest::scenarios(root)?;
    let mut rows = Vec::new();
    for agent in agents.iter().filter(|agent| wishes.wants(&agent.name)) {
        for transport in wishes.transports() {
            for scenario in scenarios.iter().filter(|scenario| wishes.plays(scenario)) {
                let folder = folder_of(root, &agent.name, transport, &scenario.name);
                let fixture = RunFixture::prepare(places, &folder)?;
                let settings = if scenario.approves { agent.approving.clone() } else { Map::new() };
                fixture.configure(&scenario.servers, settings)?;
                let turn = turn::play(&fixture, agent, transport, scenario)?;
                let row = Row {
                    name: agent.name.clone(),
                    transport,
                    what: scenario.name.clone(),
                    took: turn.took,
                    outcome: verdict::judge(&turn, scenario),
                };
                tell(&row, &folder);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// One line of progress; a failure says where its files are.
fn tell(row: &Row, folder: &Path) {
    let what = format!("{} over {}, {}", row.name, row.transport.name(), row.what);
    let seconds = row.took.as_secs_f64();
    match &row.outcome {
        Ok(_) => steps::note(&format!("{what}: passed in {seconds:.1} s")),
        Err(reason) => {
            steps::note(&format!("{what}: FAILED: {reason}; see `{}`", folder.display()));
        }
    }
}

/// Where everything of one run is kept.
fn folder_of(root: &Path, name: &str, transport: Transport, what: &str) -> PathBuf {
    let what: String =
        what.chars().map(|sign| if sign.is_alphanumeric() { sign } else { '-' }).collect();
    workspace::target(root).join("agents").join(name).join(transport.name()).join(what)
}

impl Wishes {
    fn read(arguments: &[String]) -> Outcome<Self> {
        let mut wishes = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words.next().cloned().ok_or_else(|| Failure::new(format!("`{word}` needs a value")))
            };
            match word.as_str() {
                "--libraries" => wishes.libraries = true,
                "--only" => wishes.only = Some(value()?),
                "--binary" => wishes.binary = Some(value()?.into()),
                "--transport" => wishes.transport = Some(Transport::named(&value()?)?),
                option if option.starts_with('-') => {
                    return Err(Failure::new(format!("`agents` has no option `{option}`")));
                }
                name => wishes.names.push(name.to_owned()),
            }
        }
        Ok(wishes)
    }

    /// Refuses names that nobody has.
    fn know<'names>(&self, known: impl Iterator<Item = &'names str>) -> Outcome {
        let known: Vec<&str> = known.collect();
        match self.names.iter().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Failure::new(format!("no `{name}`; there are {}", known.join(", ")))),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }

    fn plays(&self, scenario: &Scenario) -> bool {
        self.only.as_ref().is_none_or(|part| scenario.name.contains(part.as_str()))
    }

    fn transports(&self) -> Vec<Transport> {
        self.transport.map_or_else(|| Transport::ALL.to_vec(), |transport| vec![transport])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Wishes, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Wishes::read(&words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_command_line_is_read() {
        let wishes =
            read("--libraries --only list --transport stdio --binary b mcporter").expect("it fits");
        let expected = Wishes {
            libraries: true,
            only: Some("list".to_owned()),
            transport: Some(Transport::Stdio),
            binary: Some("b".into()),
            names: vec!["mcporter".to_owned()],
        };
        assert_eq!(wishes, expected);
        assert_eq!(read("codex").expect("it fits").transports(), Transport::ALL);
        for (line, complaint) in [
            ("--only", "`--only` needs a value"),
            ("--transport tcp", "no transport `tcp`"),
            ("--fast", "no option `--fast`"),
        ] {
            let failure = read(line).expect_err(line);
            assert!(failure.contains(complaint), "{line}: {failure}");
        }
    }

    #[test]
    fn only_known_names_are_taken() {
        let wishes = read("codex").expect("it fits");
        assert!(wishes.know(["codex", "opencode"].into_iter()).is_ok());
        assert!(wishes.know(["opencode"].into_iter()).is_err());
        assert!(wishes.wants("codex") && !wishes.wants("opencode"));
    }
}
