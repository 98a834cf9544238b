//! `gantry tools spec`: the specification document of a tool.

use gantry_providers::tools::specification;

use crate::cli::args::SpecOptions;
use crate::cli::exit::{Code, Exit};
use crate::cli::render;

pub(super) fn run(options: &SpecOptions) -> Result<(), Exit> {
    let opened = super::open(&options.origin)?;
    // Says what was meant when there is no such tool.
    opened.find(&options.name)?;
    let Some(manifest) = opened.manifest(&options.name) else {
        let text = format!("`{}` is built in and has no specification document", options.name);
        return Err(Exit::new(Code::Failed, text).hint("name a tool of a folder: `--tools DIR`"));
    };
    render::print(&specification::write(&manifest))
}
