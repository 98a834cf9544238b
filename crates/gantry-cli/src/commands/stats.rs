//! `gantry stats`: what is known of the tools, over all starts.

use std::path::{Path, PathBuf};

use clap::Args;
use gantry::ToolStatistics;
use serde_json::{Value, json};

use crate::exit::{Code, Exit};
use crate::runtime::statistics_source;
use crate::{render, state_dir, tool_sources};

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct StatsOptions {
    /// Show details of this tool.
    #[arg(value_name = "TOOL")]
    pub(crate) tool: Option<String>,

    /// Configuration file, which may name another store.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Shows what is known of the tools.
pub(crate) async fn stats(options: StatsOptions) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.config.as_deref())?;
    let mut tools = known(&state_dir::store(config.as_ref())?).await?;
    match options.tool {
        None if options.json => print(&tools.iter().map(to_json).collect()),
        None => {
            tools.sort_by(|one, other| {
                other.calls.cmp(&one.calls).then_with(|| one.name.cmp(&other.name))
            });
            render::statistics(&tools)
        }
        Some(name) => {
            let found = tools.iter().find(|tool| tool.name == name);
            let tool = found.ok_or_else(|| {
                Exit::new(Code::NotFound, format!("there are no statistics of a tool `{name}`"))
                    .hint("`gantry stats` lists the tools that were called")
            })?;
            match options.json {
                true => print(&to_json(tool)),
                false => render::tool_statistics(tool),
            }
        }
    }
}

fn print(value: &Value) -> Result<(), Exit> {
    render::print_json(&format!("{value:#}"))
}

/// Reading makes no store: without one nothing is known.
async fn known(address: &str) -> Result<Vec<ToolStatistics>, Exit> {
    let path = address.strip_prefix("sqlite://").map(Path::new);
    if path.is_some_and(|path| !path.exists()) {
        return Ok(Vec::new());
    }
    let read = statistics_source::read(address).await;
    read.map_err(|error| Exit::new(Code::Failed, error.to_string()))
}

fn to_json(tool: &ToolStatistics) -> Value {
    let latency = &tool.latency;
    let quantile = |part| latency.quantile(part).map(|it| it.as_secs_f64() * 1e3);
    let mean = latency.sum().as_secs_f64() * 1e3 / latency.count().max(1) as f64;
    json!({
        "tool": tool.name,
        "calls": tool.calls,
        "errors": tool.errors,
        "latency_ms": {
            "mean": mean, "p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99),
        },
        // Where each bucket begins, and how many calls are in it.
        "latency_us": latency.encode(),
        "standby": {"hits": tool.standby_hits, "misses": tool.standby_misses},
        "last_call_ms": tool.last_call.map(statistics_source::millis),
    })
}
