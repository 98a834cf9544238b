//! `gantry list`: the servers of the configuration.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use gantry::{ObjectWriter, RawJson};

use super::exit::Exit;
use super::import::read::{self, Found};
use super::render::{self, Style, Table};
use super::{origin, secret};

/// What to list.
#[derive(Debug, Args)]
pub(crate) struct ServersOptions {
    /// The configuration; by default the one in force.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A server as it is listed.
struct Row {
    name: String,
    transport: String,
    place: String,
    is_disabled: bool,
    problem: Option<String>,
}

pub(crate) fn run(options: &ServersOptions) -> Result<(), Exit> {
    let file = origin::find(options.config.as_deref());
    let rows = file.as_deref().map_or_else(|| Ok(Vec::new()), rows)?;
    if options.json {
        let rows: Vec<RawJson> = rows.iter().map(Row::to_json).collect();
        return render::print(&render::pretty(&RawJson::array(&rows)));
    }
    if rows.is_empty() {
        render::say("there are no servers yet; `gantry add NAME -- COMMAND` adds one");
    }
    let mut table = Table::default();
    for row in &rows {
        let mark = match (&row.problem, row.is_disabled) {
            (Some(_), _) => "wrong",
            (None, true) => "disabled",
            (None, false) => "",
        };
        let place = row.problem.as_ref().unwrap_or(&row.place);
        table.row([&row.name, &row.transport, mark, place]);
    }
    render::print(&table.to_text(Style::of_stdout()))
}

/// The servers of a configuration.
fn rows(file: &Path) -> Result<Vec<Row>, Exit> {
    Ok(read::servers(file)?.into_iter().map(Row::of).collect())
}

impl Row {
    fn of(found: Found) -> Self {
        let name = found.name;
        let entry = match found.translated {
            Ok(translated) => translated.entry,
            Err(problem) => {
                let (transport, place) = (String::new(), String::new());
                return Self { name, transport, place, is_disabled: false, problem: Some(problem) };
            }
        };
        let text = |key: &str| entry.get(key).and_then(|it| it.to_text());
        let args = entry.get("args").and_then(|it| it.read::<Vec<String>>()).unwrap_or_default();
        let (transport, place) = match (text("command"), text("url")) {
            (Some(command), _) => {
                let words: Vec<String> = std::iter::once(command).chain(args).collect();
                ("stdio".to_owned(), secret::words(&words).join(" "))
            }
            (None, url) => {
                let url = url.unwrap_or_default();
                let is_socket = url.starts_with("ws://") || url.starts_with("wss://");
                let inferred = if is_socket { "ws" } else { "http" };
                (text("type").unwrap_or_else(|| inferred.to_owned()), secret::address(&url))
            }
        };
        let is_disabled = entry.get("disabled").and_then(|it| it.read()) == Some(true);
        Self { name, transport, place, is_disabled, problem: None }
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
