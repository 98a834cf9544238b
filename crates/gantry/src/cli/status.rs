//! `gantry status`: how the servers of the gateway that runs stand.

mod table;

use std::time::{Duration, Instant};

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry::RawJson;
use serde::Deserialize;

use super::admin_client::{AdminClient, GatewayTarget, page};
use super::completions;
use super::exit::Exit;
use super::render::{self, Style};
use super::tools::tell_lines;

/// How long a gateway may take to read its configuration again before that is said instead.
const RELOAD_WITHIN: Duration = Duration::from_secs(6);

/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(25);

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    /// Show this server alone, in detail.
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
struct Standing {
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
            render::say(&render::one_line(marks));
        }
        return render::print(&table::all(&standings, style));
    };
    let server = running.get(&page(name, "")).await?;
    match options.json {
        true => render::print(&render::pretty(&server)),
        false => render::print(&table::one(&read(&server)?, style)),
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
        true => render::say("the configuration has changed, and the gateway is reading it again"),
        false if is_empty && problem.is_none() => {
            render::say("the gateway has no servers; `gantry add NAME -- COMMAND` adds one");
        }
        false => {}
    }
}

fn read<T: serde::de::DeserializeOwned>(json: &RawJson) -> Result<T, Exit> {
    let wrong = |error| Exit::bug(format!("the gateway's answer is not understood: {error}"));
    json.try_read().map_err(wrong)
}
