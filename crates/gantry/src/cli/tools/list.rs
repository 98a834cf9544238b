//! `gantry tools list`.

use std::sync::Arc;

use gantry::RawJson;
use gantry_gateway::{Target, ToolEntry};

use super::pin;
use crate::cli::args::ListOptions;
use crate::cli::exit::Exit;
use crate::cli::render::{self, Style, Table};

pub(super) async fn run(options: &ListOptions) -> Result<(), Exit> {
    let opened = super::reach(&options.reach, None).await?;
    render::problems(&opened.problems);
    let snapshot = opened.server.gateway().catalog().snapshot();
    let pins = opened.guarding.as_ref().map(|it| it.guard.pins());
    let is_in_order = |tool: &&Arc<ToolEntry>| {
        pins.is_none_or(|pins| pins.is_in_order(&Target::Tool((*tool).clone())))
    };
    if let Some(pins) = pins {
        pin::tell_lines(&pins.lines().into_iter().map(|line| line.text).collect::<Vec<_>>());
    }
    if options.json {
        let tools = snapshot.tools().filter(is_in_order);
        let definitions: Vec<&RawJson> = tools.map(|tool| &tool.definition).collect();
        return render::print(&render::pretty(&RawJson::array(definitions)));
    }
    let mut table = Table::default();
    for tool in snapshot.tools().filter(is_in_order) {
        table.row([&tool.name, &version(tool), &marks(tool), &description(tool)]);
    }
    if snapshot.tools().next().is_none() {
        render::say("there are no tools yet; `gantry tools new python text.count` writes one");
    }
    render::print(&table.to_text(Style::of_stdout()))
}

/// The version of a tool; those in code have none.
pub(super) fn version(tool: &ToolEntry) -> String {
    let about = tool.definition.at(&["_meta", "gantry/tool", "version"]);
    about.and_then(|it| it.to_text()).unwrap_or_default()
}

/// What to know before a tool is called.
fn marks(tool: &ToolEntry) -> String {
    let about = |key| tool.definition.at(&["_meta", "gantry/tool", key]);
    let destructive = about("destructive").and_then(|it| it.read::<bool>()) == Some(true);
    let deprecated = about("deprecated_in").is_some_and(|it| it.to_text().is_some());
    let marks = [(destructive, "destructive"), (deprecated, "deprecated")];
    let marks = marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark));
    marks.collect::<Vec<_>>().join(", ")
}

/// The first line of what a tool says of itself.
fn description(tool: &ToolEntry) -> String {
    let text = tool.definition.get("description").and_then(|it| it.to_text()).unwrap_or_default();
    text.trim().lines().next().unwrap_or_default().to_owned()
}
