//! `gantry status`: how the servers of the gateway that runs stand.

use std::time::{Duration, Instant};

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry::RawJson;
use serde::Deserialize;

use crate::admin_client::{AdminClient, GatewayTarget, page};
use crate::commands::completions;
use crate::commands::tools::tell_lines;
use crate::exit::Exit;
use crate::render::{self, Style, Table, one_line};

/// How long a gateway may take to read its configuration again before that is said instead.
const RELOAD_WITHIN: Duration = Duration::from_secs(6);

/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(25);

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    /// Show details of this server.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a server stands, as the gateway tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Standing {
    name: String,
    state: String,
    reason: Option<String>,
    transport: String,
    place: String,
    revision: Option<String>,
    server: Option<String>,
    tools: u64,
    resources: u64,
    prompts: u64,
    problems: Vec<String>,
    process: Option<u32>,
    memory_bytes: Option<u64>,
    restarts: u64,
    in_flight: u64,
    age_ms: Option<u64>,
    breaker: Option<String>,
    connections: Option<u64>,
    /// How many tools are destructive or do not say, and how to trust the server.
    marks: Option<String>,
}

pub(crate) async fn run(options: &StatusOptions) -> Result<(), Exit> {
    let running = AdminClient::find(&options.reach).await?;
    let style = Style::of_stdout();
    let Some(name) = options.name.as_deref() else {
        let told = settled(&running).await?;
        let servers = told.get("servers").unwrap_or(RawJson::NULL);
        if options.json {
            return render::print(&render::pretty(&servers));
        }
        let standings: Vec<Standing> = read(&servers)?;
        tell_configuration(&told, standings.is_empty());
        tell_lines(&told.get("pins").and_then(|it| it.read::<Vec<String>>()).unwrap_or_default());
        for marks in standings.iter().filter_map(|it| it.marks.as_ref()) {
            render::say(&one_line(marks));
        }
        return render::print(&all(&standings, style));
    };
    let server = running.get(&page(name, "")).await?;
    match options.json {
        true => render::print(&render::pretty(&server)),
        false => render::print(&one(&read(&server)?, style)),
    }
}

/// The servers of a gateway, once it has read what its files say. One that was told to add a server a
/// moment ago has not heard of it yet.
async fn settled(running: &AdminClient) -> Result<RawJson, Exit> {
    let begin = Instant::now();
    loop {
        let told = running.get("/api/servers").await?;
        if !is_reloading(&told) || begin.elapsed() > RELOAD_WITHIN {
            return Ok(told);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_reloading(told: &RawJson) -> bool {
    told.at(&["configuration", "reloading"]).and_then(|it| it.read()).unwrap_or(false)
}

/// Says where what is in force is not what the files say, and what to do where there are no servers.
fn tell_configuration(told: &RawJson, is_empty: bool) {
    let problem = told.at(&["configuration", "problem"]).and_then(|it| it.to_text());
    if let Some(problem) = &problem {
        render::say(&format!(
            "warning: the configuration on disk is not valid, and the previous one is in force: \
             {problem}"
        ));
    }
    match is_reloading(told) {
        true => render::say("the configuration has changed; the gateway is reloading it"),
        false if is_empty && problem.is_none() => {
            render::say("the gateway has no servers; add one with `gantry add NAME -- COMMAND`");
        }
        false => {}
    }
}

fn read<T: serde::de::DeserializeOwned>(json: &RawJson) -> Result<T, Exit> {
    let wrong = |error| Exit::bug(format!("invalid response of the gateway: {error}"));
    json.try_read().map_err(wrong)
}

/// All servers, a line each.
pub(crate) fn all(standings: &[Standing], style: Style) -> String {
    if standings.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    table.row([
        "SERVER",
        "STATE",
        "TRANSPORT",
        "REVISION",
        "TOOLS",
        "RESOURCES",
        "PROMPTS",
        "CALLS",
        "RESTARTS",
        "MEMORY",
        "BREAKER",
        "ABOUT",
    ]);
    for standing in standings {
        let about = standing.reason.as_ref().or(standing.server.as_ref());
        let via = match standing.connections {
            Some(own) => format!("{} +{own}", standing.transport),
            None => standing.transport.clone(),
        };
        table.row([
            &standing.name,
            &standing.state,
            &via,
            standing.revision.as_deref().unwrap_or("-"),
            &standing.tools.to_string(),
            &standing.resources.to_string(),
            &standing.prompts.to_string(),
            &standing.in_flight.to_string(),
            &standing.restarts.to_string(),
            &standing.memory_bytes.map_or_else(|| "-".to_owned(), memory),
            standing.breaker.as_deref().unwrap_or("-"),
            about.map_or("", String::as_str),
        ]);
    }
    table.to_text(style)
}

/// One server: all that is known of it.
pub(crate) fn one(standing: &Standing, style: Style) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let state = match &standing.reason {
        Some(reason) => format!("{}: {reason}", standing.state),
        None => standing.state.clone(),
    };
    let process = standing.process.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let offers = format!(
        "{} tools, {} resources, {} prompts",
        standing.tools, standing.resources, standing.prompts
    );
    let age = standing.age_ms.map_or_else(|| "-".to_owned(), |millis| age(millis / 1000));
    let own = standing.connections;
    let own =
        own.map(|own| ("separate", format!("{own} connections for single users or sessions")));
    let lines = [
        ("state", state),
        ("transport", format!("{} {}", standing.transport, standing.place)),
        ("revision", or_none(&standing.revision)),
        ("server", or_none(&standing.server)),
        ("offers", offers),
        ("calls", format!("{} in flight", standing.in_flight)),
        ("process", process),
        ("memory", standing.memory_bytes.map_or_else(|| "-".to_owned(), memory)),
        ("connected", age),
        ("restarts", standing.restarts.to_string()),
        ("breaker", or_none(&standing.breaker)),
    ];
    let mut out = style.bold(&one_line(&standing.name)) + "\n";
    let marks = standing.marks.clone().map(|marks| ("tools", marks));
    for (name, value) in lines.into_iter().chain(own).chain(marks) {
        out.push_str(&format!("  {name:10} {}\n", one_line(&value)));
    }
    for problem in &standing.problems {
        out.push_str(&format!("  {} {}\n", style.red("left out"), one_line(problem)));
    }
    out
}

/// Bytes for people.
fn memory(bytes: u64) -> String {
    const MEBIBYTE: f64 = 1024.0 * 1024.0;
    match bytes as f64 / MEBIBYTE {
        small if small < 10.0 => format!("{small:.1} MiB"),
        large if large < 10_000.0 => format!("{large:.0} MiB"),
        huge => format!("{:.1} GiB", huge / 1024.0),
    }
}

/// A time for people, in its two largest units.
fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standings() -> Vec<Standing> {
        let text = r#"[
            {"name": "fs", "state": "ready", "transport": "stdio", "place": "npx fs",
             "revision": "2025-11-25", "server": "files 1.0", "tools": 12, "resources": 1,
             "prompts": 0, "problems": ["tool `x`: its\nschema is wrong"], "process": 7,
             "memory_bytes": 53477376, "restarts": 2, "in_flight": 1, "age_ms": 3725000,
             "breaker": "closed"},
            {"name": "web", "state": "backing off", "reason": "refused", "transport": "http",
             "place": "https://h/mcp", "later": true, "connections": 2}
        ]"#;
        serde_json::from_str(text).expect("servers")
    }

    #[test]
    fn a_line_each() {
        let expected = "\
SERVER  STATE        TRANSPORT  REVISION    TOOLS  RESOURCES  PROMPTS  CALLS  RESTARTS  MEMORY  BREAKER  ABOUT
fs      ready        stdio      2025-11-25  12     1          0        1      2         51 MiB  closed   files 1.0
web     backing off  http +2    -           0      0          0        0      0         -       -        refused";
        assert_eq!(all(&standings(), Style::PLAIN), expected);
    }

    #[test]
    fn all_of_one() {
        let expected = "\
fs
  state      ready
  transport  stdio npx fs
  revision   2025-11-25
  server     files 1.0
  offers     12 tools, 1 resources, 0 prompts
  calls      1 in flight
  process    7
  memory     51 MiB
  connected  1h 2m
  restarts   2
  breaker    closed
  left out tool `x`: its schema is wrong
";
        assert_eq!(one(&standings()[0], Style::PLAIN), expected);
        let other = one(&standings()[1], Style::PLAIN);
        assert!(other.contains("state      backing off: refused\n"), "{other}");
        assert!(
            other.contains("separate   2 connections for single users or sessions\n"),
            "{other}"
        );
    }

    #[test]
    fn numbers() {
        let sizes =
            [(0, "0.0 MiB"), (1 << 20, "1.0 MiB"), (15 << 20, "15 MiB"), (20 << 30, "20.0 GiB")];
        for (bytes, expected) in sizes {
            assert_eq!(memory(bytes), expected);
        }
        let ages = [(5, "5s"), (65, "1m 5s"), (3725, "1h 2m"), (90_000, "1d 1h")];
        for (seconds, expected) in ages {
            assert_eq!(age(seconds), expected);
        }
    }
}
