//! `gantry tools list`.

use std::sync::Arc;

use gantry::RawJson;
use gantry_gateway::{Target, ToolEntry};

use crate::args::{GatewayTarget, ListOptions};
use crate::commands::tools::pin;
use crate::commands::tools::target::open_target;
use crate::exit::Exit;
use crate::render::{self, Style, Table};

pub(crate) async fn run(options: &ListOptions) -> Result<(), Exit> {
    let definitions = match crate::commands::tools::running(&options.source).await? {
        Some(session) => {
            render::problems(&session.problems().await?);
            pin::tell_lines(&session.changed().await?);
            session.tools().await?
        }
        None => listed_here(&options.source.reach).await?,
    };
    if options.json {
        return render::print(&render::pretty(&RawJson::array(&definitions)));
    }
    let mut table = Table::default();
    for tool in &definitions {
        let name = tool.get("name").and_then(|it| it.to_text()).unwrap_or_default();
        table.row([&name, &version(tool), &marks(tool), &description(tool)]);
    }
    if definitions.is_empty() {
        render::say("there are no tools yet; `gantry tools new python text.count` writes one");
    }
    render::print(&table.to_text(Style::of_stdout()))
}

/// The tools of this process that are not held back.
async fn listed_here(reach: &GatewayTarget) -> Result<Vec<RawJson>, Exit> {
    let opened = open_target(reach, None).await?;
    render::problems(&opened.problems);
    let snapshot = opened.server.gateway().catalog().snapshot();
    let pins = opened.guarding.as_ref().map(|it| it.policies.pins());
    let is_in_order = |tool: &&Arc<ToolEntry>| {
        pins.is_none_or(|pins| pins.is_in_order(&Target::Tool((*tool).clone())))
    };
    if let Some(pins) = pins {
        pin::tell_lines(&pins.lines().into_iter().map(|line| line.text).collect::<Vec<_>>());
    }
    let tools = snapshot.tools().filter(is_in_order);
    Ok(tools.map(|tool| tool.definition.clone()).collect())
}

/// The version of a tool; those in code have none.
pub(crate) fn version(tool: &RawJson) -> String {
    let about = tool.at(&["_meta", "gantry/tool", "version"]);
    about.and_then(|it| it.to_text()).unwrap_or_default()
}

/// What to know before a tool is called.
fn marks(tool: &RawJson) -> String {
    let about = |key| tool.at(&["_meta", "gantry/tool", key]);
    let is_true = |it: Option<RawJson>| it.and_then(|it| it.read::<bool>()) == Some(true);
    let hint = |key| tool.at(&["annotations", key]);
    // The hint means something only for a tool that changes its environment.
    let is_marked = is_true(hint("destructiveHint")) && !is_true(hint("readOnlyHint"));
    let destructive = is_true(about("destructive")) || is_marked;
    let deprecated = about("deprecated_in").is_some_and(|it| it.to_text().is_some());
    let marks = [(destructive, "destructive"), (deprecated, "deprecated")];
    let marks = marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark));
    marks.collect::<Vec<_>>().join(", ")
}

/// The first line of what a tool says of itself.
fn description(tool: &RawJson) -> String {
    let text = tool.get("description").and_then(|it| it.to_text()).unwrap_or_default();
    text.trim().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::marks;
    use gantry::RawJson;

    #[test]
    fn tools_of_folders_and_of_servers_are_marked() {
        let cases = [
            (r#"{"_meta":{"gantry/tool":{"destructive":true}}}"#, "destructive"),
            (r#"{"annotations":{"destructiveHint":true}}"#, "destructive"),
            (r#"{"annotations":{"destructiveHint":true,"readOnlyHint":true}}"#, ""),
            (r#"{"annotations":{"destructiveHint":false}}"#, ""),
            ("{}", ""),
            (
                r#"{"annotations":{"destructiveHint":true},"_meta":{"gantry/tool":{"deprecated_in":"2.0.0"}}}"#,
                "destructive, deprecated",
            ),
        ];
        for (tool, expected) in cases {
            assert_eq!(marks(&RawJson::from_static(tool)), expected, "{tool}");
        }
    }
}
