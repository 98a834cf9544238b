//! `clients`: the scripts of `tests/clients`, real clients of other projects, each against the
//! `everything` example over every transport it can. `clients.json` there lists them.

mod manifest;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::everything::{self, Everything};
use crate::failure::{Failure, Outcome};
use crate::process::{self, Group};
use crate::{build, provision, steps, workspace};
use manifest::{Client, Runtime, Transport};

/// A script that runs longer hangs.
const SCRIPT_LIMIT: Duration = Duration::from_secs(120);

/// Runs the named clients, all of them if none is named, and prints client by transport.
pub(crate) fn run(root: &Path, names: &[String]) -> Outcome {
    let text = workspace::read(&folder(root).join("clients.json"))?;
    let clients = choose(manifest::parse(&text)?, names)?;
    provision::run()?;
    let cache = workspace::cache()?;
    build::dist(root)?;
    let mut rows = Vec::new();
    let mut failed = 0;
    for client in &clients {
        let cells = Transport::ALL.map(|transport| {
            if !client.transports.contains(&transport) {
                return "-".to_owned();
            }
            perform(root, &cache, client, transport).unwrap_or_else(|failure| {
                failed += 1;
                steps::note(&format!("{} over {}: {failure}", client.name, transport.name()));
                "FAILED".to_owned()
            })
        });
        rows.push(std::iter::once(client.name.clone()).chain(cells).collect());
    }
    let heads: Vec<&str> = std::iter::once("client")
        .chain(Transport::ALL.iter().map(|transport| transport.name()))
        .collect();
    steps::table(&heads, &rows);
    if failed == 0 { Ok(()) } else { Err(Failure::new(format!("{failed} client runs failed"))) }
}

fn choose(clients: Vec<Client>, names: &[String]) -> Outcome<Vec<Client>> {
    let known: Vec<String> = clients.iter().map(|client| client.name.clone()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(Failure::new(format!("no client `{unknown}`; there are {}", known.join(", "))));
    }
    Ok(clients
        .into_iter()
        .filter(|client| names.is_empty() || names.contains(&client.name))
        .collect())
}

/// Compiles a client that is a binary of this workspace, so that compiling is not charged to its time limit.
fn prepare(root: &Path, client: &Client) -> Outcome {
    if client.runtime != Runtime::Cargo {
        return Ok(());
    }
    build::tests(root)
}

/// One client over one transport: what to write in the table, or why it failed.
fn perform(root: &Path, cache: &Path, client: &Client, transport: Transport) -> Outcome<String> {
    prepare(root, client)?;
    let server = match transport {
        Transport::Stdio => None,
        _ => Some(Everything::start(root)?),
    };
    let mut script = script_command(root, cache, client);
    script.args(&client.arguments).args(["--transport", transport.name()]);
    match &server {
        None => script.arg("--command").arg(everything::binary(root)),
        Some(server) => script.arg("--url").arg(endpoint(server, transport)),
    };
    let log_path = log_of(root, client, transport)?;
    let log = File::create(&log_path).map_err(|source| Failure::file(&log_path, source))?;
    let errors = log.try_clone().map_err(|source| Failure::file(&log_path, source))?;
    let mut group = Group::start(script.stdin(Stdio::null()).stdout(log).stderr(errors))?;
    let ended = group.wait(SCRIPT_LIMIT)?;
    drop(group);

    let output = workspace::read(&log_path)?;
    let verdict = match ended {
        None => Err(format!("did not end within {} s", SCRIPT_LIMIT.as_secs())),
        Some(status) => judge(status.success(), &output),
    };
    verdict
        .map(|passed| format!("{passed} ok"))
        .map_err(|reason| Failure::new(format!("{reason}; see `{}`", log_path.display())))
}

/// How many cases passed; or why the run counts as failed.
fn judge(success: bool, output: &str) -> Result<usize, String> {
    let failures: Vec<&str> = output.lines().filter(|line| line.starts_with("FAIL ")).collect();
    if !failures.is_empty() {
        return Err(failures.join("; "));
    }
    let passed = output.lines().filter(|line| line.starts_with("ok ")).count();
    if !success {
        return Err("ended without success".to_owned());
    }
    if passed == 0 { Err("reported no case".to_owned()) } else { Ok(passed) }
}

fn script_command(root: &Path, cache: &Path, client: &Client) -> Command {
    let script = folder(root).join(&client.script);
    let interpreted = |interpreter: PathBuf| {
        let mut command = process::command(interpreter);
        command.current_dir(root).arg(&script);
        command
    };
    let mut command = match client.runtime {
        Runtime::Node22 => interpreted(provision::node(cache)),
        Runtime::Node => interpreted("node".into()),
        Runtime::PythonMcp1 => interpreted(provision::python(cache, "python-mcp-1")),
        Runtime::PythonMcp2 => interpreted(provision::python(cache, "python-mcp-2")),
        Runtime::Cargo => {
            process::command(workspace::target(root).join("debug").join(&client.script))
        }
    };
    if let Some(dir) = &client.dir {
        command.env("GANTRY_MODULES", cache.join(dir).join("node_modules"));
    }
    // Keeps compiled Python out of the tree.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn endpoint(server: &Everything, transport: Transport) -> String {
    match transport {
        Transport::Stdio | Transport::Http => server.http(),
        Transport::Sse => server.sse(),
        Transport::WebSocket => server.websocket(),
    }
}

fn log_of(root: &Path, client: &Client, transport: Transport) -> Outcome<PathBuf> {
    let folder = workspace::target(root).join("clients");
    fs::create_dir_all(&folder).map_err(|source| Failure::file(&folder, source))?;
    Ok(folder.join(format!("{}-{}.log", client.name, transport.name())))
}

fn folder(root: &Path) -> PathBuf {
    root.join("tests/clients")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let cases = [
            (true, "ok list\nok call\n", Ok(2)),
            (true, "ok list\nnoise\n", Ok(1)),
            (true, "", Err("reported no case")),
            (false, "ok list\n", Err("ended without success")),
            (true, "ok list\nFAIL call no answer\n", Err("FAIL call no answer")),
            (false, "FAIL a x\nFAIL b y\n", Err("FAIL a x; FAIL b y")),
        ];
        for (success, output, expected) in cases {
            let expected = expected.map_err(str::to_owned);
            assert_eq!(judge(success, output), expected, "{output}");
        }
    }
}
