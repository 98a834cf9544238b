//! `gantry config`: which configuration is used, and what it says.

use gantry::config::{Config, SCHEMA, Standby};
use gantry::{ObjectWriter, RawJson};

use super::args::{ConfigOptions, ConfigVerb};
use super::exit::{Code, Exit};
use super::{origin, render};

pub(crate) fn run(verb: ConfigVerb) -> Result<(), Exit> {
    match verb {
        ConfigVerb::Check(options) => {
            let config = read(&options)?;
            render::say(&format!("{} is in order", config.file.display()));
            Ok(())
        }
        ConfigVerb::Show(options) => render::print(&render::pretty(&in_force(&read(&options)?))),
        ConfigVerb::Path(options) => {
            let file = origin::find(options.config.as_deref()).ok_or_else(none)?;
            let file = std::path::absolute(&file).unwrap_or(file);
            render::print(&file.display().to_string())
        }
        ConfigVerb::Schema => render::print(SCHEMA),
    }
}

fn read(options: &ConfigOptions) -> Result<Config, Exit> {
    origin::configuration(options.config.as_deref())?.ok_or_else(none)
}

fn none() -> Exit {
    Exit::new(Code::NotFound, "there is no configuration, so the defaults are in force")
        .hint("write ./gantry.json, such as {\"tools\": [\"./tools\"]}")
}

/// The configuration with its variables replaced and its paths whole.
fn in_force(config: &Config) -> RawJson {
    let folders = config.folders.iter().map(|folder| RawJson::string(&folder.to_string_lossy()));
    let manifests = config.inline.iter().map(|inline| inline.manifest.clone());
    let tools: Vec<RawJson> = folders.chain(manifests).collect();
    ObjectWriter::new()
        .value_some("listen", config.listen.as_ref())
        .array("tools", &tools)
        .value_some("uv", config.uv.as_ref())
        .raw_some("standby", config.standby.as_ref().map(Standby::to_json).as_ref())
        .value_some("state", config.state.as_ref())
        .finish()
}
