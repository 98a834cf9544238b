//! `gantry list`: the servers of the configuration.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use gantry::{ObjectWriter, RawJson, UpstreamConfig};

use crate::config::{self, Config};
use crate::exit::Exit;
use crate::render::{self, Style, Table};
use crate::tool_sources;

/// What to list.
#[derive(Debug, Args)]
pub(crate) struct ServersOptions {
    /// Configuration file; by default the effective one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A server as it is listed.
struct Row {
    name: String,
    transport: &'static str,
    place: String,
    is_disabled: bool,
    problem: Option<String>,
}

pub(crate) fn run(options: &ServersOptions) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.config.as_deref())?.unwrap_or_default();
    let rows: Vec<Row> = config.servers.iter().map(|server| Row::of(&config, server)).collect();
    if options.json {
        let rows: Vec<RawJson> = rows.iter().map(Row::to_json).collect();
        return render::print(&render::pretty(&RawJson::array(&rows)));
    }
    if rows.is_empty() {
        render::say("there are no servers yet; add one with `gantry add NAME -- COMMAND`");
    }
    let mut table = Table::default();
    for row in &rows {
        let mark = match (&row.problem, row.is_disabled) {
            (Some(_), _) => "wrong",
            (None, true) => "disabled",
            (None, false) => "",
        };
        let place = row.problem.as_ref().unwrap_or(&row.place);
        table.row([row.name.as_str(), row.transport, mark, place]);
    }
    render::print(&table.to_text(Style::of_stdout()))
}

impl Row {
    fn of(config: &Config, server: &UpstreamConfig) -> Self {
        let (place, problem) = match &server.target {
            Ok(target) => (config.place_of(target), None),
            Err(problem) => (String::new(), Some(problem.clone())),
        };
        let transport = config::transport(server);
        Self { name: server.name.clone(), transport, place, is_disabled: server.disabled, problem }
    }

    fn to_json(&self) -> RawJson {
        ObjectWriter::new()
            .value("name", &self.name)
            .value("transport", &self.transport)
            .value("place", &self.place)
            .value("disabled", &self.is_disabled)
            .value_some("problem", self.problem.as_ref())
            .finish()
    }
}
