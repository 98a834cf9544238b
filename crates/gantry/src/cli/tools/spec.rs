//! `gantry tools spec`: the specification document of a tool.

use gantry_providers::tool_spec;

use crate::cli::args::SpecOptions;
use crate::cli::exit::Exit;
use crate::cli::render;

pub(super) async fn run(options: &SpecOptions) -> Result<(), Exit> {
    let opened = super::reach(&options.reach, Some(&options.name)).await?;
    // Says what was meant when there is no such tool.
    let tool = opened.find(&options.name)?;
    let document = match opened.manifest(&options.name) {
        Some(manifest) => tool_spec::write(&manifest),
        None => {
            let server = tool.origin.as_ref();
            let server = server.map(|origin| (&*origin.server, tool.own.name.as_str()));
            tool_spec::describe(&tool.definition, server)
        }
    };
    opened.close().await;
    render::print(&document)
}
