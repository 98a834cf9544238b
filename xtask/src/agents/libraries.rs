//! Agent libraries: each has a script that lists the tools as the library would pass them to a model,
//! and calls one of a folder, one of a server that is a program, and one of a server on the web.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::manifest::{self, Library, Transport};
use super::run_fixture::{RunFixture, shown};
use super::{Places, Row, Wishes, folder_of, tell};
use crate::failure::Outcome;
use crate::process::Group;
use crate::{provision, workspace};

/// A script that runs longer hangs.
const SCRIPT_LIMIT: Duration = Duration::from_secs(60);
/// What each script does, in this order.
const STEPS: [&str; 4] = ["list", "script", "stdio", "http"];
/// Where the server on the web finds its library.
const SERVER: &str = "ts-server-2";

/// Runs the wanted libraries.
pub(super) fn run(places: &Places, wishes: &Wishes) -> Outcome<Vec<Row>> {
    let libraries = manifest::libraries(places.root)?;
    wishes.know(libraries.iter().map(|library| library.name.as_str()))?;
    let mut rows = Vec::new();
    for library in libraries.iter().filter(|library| wishes.wants(&library.name)) {
        let transports = wishes.transports().into_iter();
        for transport in transports.filter(|transport| library.transports.contains(transport)) {
            let folder = folder_of(places.root, &library.name, transport, "tools");
            let (took, outcome) = perform(places, &folder, library, transport)?;
            let name = library.name.clone();
            let row = Row { name, transport, what: "list and call".to_owned(), took, outcome };
            tell(&row, &folder);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn perform(
    places: &Places,
    folder: &Path,
    library: &Library,
    transport: Transport,
) -> Outcome<(Duration, Result<String, String>)> {
    let fixture = RunFixture::prepare(places, folder)?;
    let journal = folder.join("journal.jsonl");
    let web = fixture.listen("server.mjs", &["web", &shown(&journal)], SERVER)?;
    fixture.configure(&servers(web.port), Map::new())?;

    let gateway = match transport {
        Transport::Http => Some(fixture.gateway()?),
        Transport::Stdio => None,
    };
    let script = fixture.script(&library.script);
    let is_python = script.extension().is_some_and(|ending| ending == "py");
    let interpreter = if is_python {
        provision::python(places.cache, &library.peer)
    } else {
        provision::node(places.cache)
    };
    let mut command = fixture.command(interpreter, &fixture.home());
    command
        .arg(script)
        .env("GANTRY_MODULES", places.cache.join(&library.peer).join("node_modules"))
        .env("GANTRY_SDK", places.cache.join("ts-sdk-1/node_modules"))
        .current_dir(fixture.work())
        .stdin(Stdio::null())
        .stdout(fixture.file("output.log")?)
        .stderr(fixture.file("errors.log")?);
    match &gateway {
        Some(gateway) => command.args(["http", &gateway.http(), &fixture.token()?]),
        None => command.arg("stdio").args(fixture.serve()),
    };
    let begun = Instant::now();
    let mut group = Group::start(&mut command)?;
    let ended = group.wait(SCRIPT_LIMIT)?;
    let took = begun.elapsed();
    drop(group);
    drop(gateway);

    let output = workspace::read(&folder.join("output.log"))?;
    let runs = fixture.journal("journal.jsonl")?.len();
    let outcome = match ended {
        None => Err(format!("did not end within {} s; {output}", SCRIPT_LIMIT.as_secs())),
        Some(status) => judge(status.success(), &output, runs),
    };
    Ok((took, outcome))
}

fn servers(port: u16) -> Map<String, Value> {
    let program = json!({
        "command": "{node}",
        "args": ["{tests}/server.mjs", "legacy", "{journal}"],
        "env": {"GANTRY_MODULES": "{cache}/ts-sdk-1/node_modules"},
    });
    let web = json!({"url": format!("http://127.0.0.1:{port}/mcp")});
    [("legacy".to_owned(), program), ("web".to_owned(), web)].into_iter().collect()
}

/// Every step must be told as done, and each of the three tools must have run once.
fn judge(success: bool, output: &str, runs: usize) -> Result<String, String> {
    let failures: Vec<&str> = output.lines().filter(|line| line.starts_with("FAIL ")).collect();
    if !failures.is_empty() {
        return Err(failures.join("; "));
    }
    let is_told = |step: &&&str| output.lines().any(|line| line == format!("ok {step}"));
    let missing: Vec<&&str> = STEPS.iter().filter(|step| !is_told(step)).collect();
    if !success || !missing.is_empty() {
        return Err(format!("ended without success, and without {missing:?}"));
    }
    let wanted = STEPS.len() - 1;
    if runs != wanted {
        return Err(format!("tools ran {runs} times instead of {wanted}"));
    }
    Ok(String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let all = "ok list\nok script\nok stdio\nok http\n";
        let cases = [
            (true, all.to_owned(), 3, Ok("")),
            (true, all.to_owned(), 4, Err("ran 4 times")),
            (false, all.to_owned(), 3, Err("without success")),
            (true, all.replace("ok http", "noise"), 3, Err("http")),
            (true, all.replace("ok http", "FAIL http gone"), 3, Err("FAIL http gone")),
        ];
        for (success, output, runs, expected) in cases {
            let verdict = judge(success, &output, runs);
            match (&verdict, expected) {
                (Ok(_), Ok(_)) => {}
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
                _ => panic!("{output}: {verdict:?}"),
            }
        }
    }
}
