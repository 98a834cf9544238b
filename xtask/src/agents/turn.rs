//! One turn: the agent gets one prompt in an empty home, does what its model says, and ends.

use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::manifest::{Agent, Scenario, Transport};
use super::run_fixture::{RunFixture, write};
use crate::failure::Outcome;
use crate::process::{self, Group};

/// An agent that takes longer is ended. What counts as too long is for the verdict.
const TIMEOUT: Duration = Duration::from_secs(75);
/// How often somebody looks for open approvals.
const LOOK: Duration = Duration::from_millis(500);

/// What became of a turn.
pub(super) struct Turn {
    /// From the start of the program to its end.
    pub(super) took: Duration,
    /// How much of that passed before the model was asked anything. On a busy machine programs of this
    /// size need many seconds to start.
    pub(super) before: Duration,
    /// None if it had to be ended.
    pub(super) status: Option<ExitStatus>,
    /// What the model was asked and answered.
    pub(super) requests: Vec<Value>,
    /// Each run of a tool, told by the tool.
    pub(super) runs: Vec<Value>,
}

/// Plays the scenario on the stage.
pub(super) fn play(
    fixture: &RunFixture,
    agent: &Agent,
    transport: Transport,
    scenario: &Scenario,
) -> Outcome<Turn> {
    let model = fixture.model()?;
    let gateway = match transport {
        Transport::Http => Some(fixture.gateway()?),
        Transport::Stdio => None,
    };
    let mut values = fixture.values();
    values.set("model", format!("http://127.0.0.1:{}", model.port));
    values.set("prompt", scenario.prompt.as_str());
    let mut home = fixture.home();
    if let Some(gateway) = &gateway {
        values.set("url", gateway.http());
        values.set("token", fixture.token()?);
        home = fixture.gateway_home();
    }
    let entry = agent.entry.get(transport.name()).map(|entry| values.fill(entry));
    values.set("entry", entry.unwrap_or_default());
    for (path, content) in &agent.files {
        write_file(&fixture.home().join(path), &values.fill(content))?;
    }

    let program = values.fill(&Value::from(format!(
        "{{cache}}/{}/node_modules/.bin/{}",
        agent.peer, agent.program
    )));
    let mut command = fixture.command(program.as_str().unwrap_or_default(), &fixture.home());
    command
        .args(values.words(&agent.arguments))
        .envs(values.pairs(&agent.environment))
        .current_dir(fixture.work())
        .stdout(fixture.file("output.log")?)
        .stderr(fixture.file("errors.log")?);
    let (begun, since) = (Instant::now(), SystemTime::now());
    let mut group = Group::start(&mut command)?;
    let status = wait(&mut group, begun, || {
        if scenario.approves {
            approve(fixture, &home);
        }
    })?;
    let took = begun.elapsed();
    drop(group);
    drop(gateway);
    let requests = fixture.journal("model.jsonl")?;
    Ok(Turn {
        took,
        before: until_first(&requests, since).min(took),
        status,
        requests,
        runs: fixture.journal("journal.jsonl")?,
    })
}

/// The time from then to the first request to the model; none at all if there was no request.
fn until_first(requests: &[Value], since: SystemTime) -> Duration {
    let at = requests.first().and_then(|request| request.get("at")?.as_u64()).unwrap_or_default();
    let first = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    first.duration_since(since).unwrap_or_default()
}

fn wait(group: &mut Group, begun: Instant, meanwhile: impl Fn()) -> Outcome<Option<ExitStatus>> {
    while begun.elapsed() < TIMEOUT {
        if let Some(status) = group.wait(LOOK)? {
            return Ok(Some(status));
        }
        meanwhile();
    }
    Ok(None)
}

/// Grants what is open, as a person at another terminal would. That nothing is open yet, or no gateway
/// can be reached yet, is no failure: the next look may find it.
fn approve(fixture: &RunFixture, home: &Path) {
    let Ok(text) = process::capture_quietly(fixture.gantry(home).args(["approve", "--json"]))
    else {
        return;
    };
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let pending = answer.get("pending").and_then(Value::as_array);
    for open in pending.into_iter().flatten() {
        if let Some(id) = open.get("id").and_then(Value::as_str) {
            let _ = process::capture_quietly(fixture.gantry(home).args(["approve", id]));
        }
    }
}

/// A list is the lines of a text, anything else is JSON.
fn write_file(path: &Path, content: &Value) -> Outcome {
    let lines = content.as_array().into_iter().flatten().filter_map(Value::as_str);
    let lines: Vec<&str> = lines.collect();
    if lines.is_empty() {
        write(path, &content.to_string())
    } else {
        write(path, &lines.join("\n"))
    }
}
