//! `gantry status`: how the servers of the gateway that runs stand.

mod table;

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry::RawJson;
use serde::Deserialize;

use super::completions;
use super::exit::Exit;
use super::render::{self, Style};
use super::running::{Reach, Running, page};
use super::tools::tell_lines;

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    /// Show this server alone, in detail.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) reach: Reach,

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
    let running = Running::find(&options.reach).await?;
    let style = Style::of_stdout();
    let Some(name) = options.name.as_deref() else {
        let told = running.get("/api/servers").await?;
        let servers = told.get("servers").unwrap_or(RawJson::NULL);
        if options.json {
            return render::print(&render::pretty(&servers));
        }
        let standings: Vec<Standing> = read(&servers)?;
        if standings.is_empty() {
            render::say("the gateway has no servers; `gantry add NAME -- COMMAND` adds one");
        }
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

fn read<T: serde::de::DeserializeOwned>(json: &RawJson) -> Result<T, Exit> {
    let wrong = |error| Exit::bug(format!("the gateway's answer is not understood: {error}"));
    json.try_read().map_err(wrong)
}
