//! `gantry tools`: look at tools, call them, check them, write new ones.

pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod list;
pub(crate) mod new;

pub(crate) mod pin;
pub(crate) mod policy_status;
pub(crate) mod show;
pub(crate) mod target;

use std::sync::Arc;

use gantry::{Problem, Server, ToolSettings, Tools, Upstreams};
use gantry_gateway::{NameStyle, ToolEntry};
use gantry_providers::scripts::manifest::Manifest;
use gantry_providers::suggestion::nearest;
use gantry_providers::tool_spec;

use crate::args::{Origin, SpecOptions, ToolsOptions, ToolsVerb};
use crate::commands::call;
use crate::config::Config;
use crate::exit::{Code, Exit};
use crate::runtime::policies::PolicyRuntime;
use crate::{render, tool_sources};

pub(crate) use crate::commands::tools::pin::tell_lines;
pub(crate) use crate::commands::tools::policy_status::describe;
pub(crate) use crate::commands::tools::target::{definition, open_target, running, unlisted};

pub(crate) async fn run(options: ToolsOptions) -> Result<(), Exit> {
    match options.verb.unwrap_or(ToolsVerb::List(options.list)) {
        ToolsVerb::List(options) => list::run(&options).await,
        ToolsVerb::Show(options) => show::run(&options).await,
        ToolsVerb::Call(options) => call::run(&options).await,
        ToolsVerb::Check(options) => check::run(&options),
        ToolsVerb::New(options) => new::run(&options).await,
        ToolsVerb::Spec(options) => print_specification(&options).await,
        ToolsVerb::Diff(options) => diff::run(&options),
        ToolsVerb::Pin(options) => pin::run(&options).await,
        ToolsVerb::Unpin(options) => pin::unpin(&options).await,
    }
}

/// A server in this process, with the tools it has of folders.
pub(crate) struct Opened {
    pub(crate) server: Server,
    /// Empty when the examples are offered.
    pub(crate) tools: Tools,
    /// What is wrong with the tools that were left out.
    pub(crate) problems: Vec<Problem>,
    /// The policies between, when tools may be called.
    pub(crate) guarding: Option<PolicyRuntime>,
    /// The servers whose tools are there too. They end with this.
    _servers: Option<Upstreams>,
}

/// Reads the tools and puts a server before them, to look at and not to call.
pub(crate) fn open(origin: &Origin) -> Result<Opened, Exit> {
    let config = tool_sources::configuration(origin.config.as_deref())?;
    guarded(origin, config.as_ref(), None)
}

/// Reads the tools and puts a server before them, with these policies between.
fn guarded(
    origin: &Origin,
    config: Option<&Config>,
    guarding: Option<PolicyRuntime>,
) -> Result<Opened, Exit> {
    // Nobody will be there for a second call.
    let settings = ToolSettings { standby: false, ..tool_sources::settings(config) };
    let mut offer = tool_sources::open(origin, config, settings)?;
    if let Some(guarding) = &guarding {
        offer.builder = offer.builder.policies(guarding.policies.clone());
    }
    let (tools, problems) = (offer.tools.clone(), offer.problems.clone());
    Ok(Opened { server: offer.build()?, tools, problems, guarding, _servers: None })
}

impl Opened {
    /// Ends what the policies must end, when the last call was made.
    pub(crate) async fn close(&self) {
        if let Some(guarding) = &self.guarding {
            guarding.close().await;
        }
    }

    /// The tool of that name or `name@version`, or what the user may have meant.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<ToolEntry>, Exit> {
        let snapshot = self.server.gateway().catalog().snapshot();
        // Another gateway lists its tools under the names that clients see.
        let listed = || snapshot.tool(&NameStyle::default().fit(name));
        if let Some(tool) = snapshot.tool(name).or_else(listed) {
            return Ok(tool.clone());
        }
        if let Some(older) = self.manifest(name) {
            let entry = ToolEntry::new(older.definition()).map(Arc::new);
            return entry.map_err(|error| Exit::bug(error.to_string()));
        }
        let names: Vec<&str> = snapshot.tools().map(|tool| tool.name.as_str()).collect();
        let left_out = self.problems.iter().filter(|it| !it.is_warning).count();
        let hint = match nearest(name, &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if left_out > 0 => {
                let count = tally(left_out, "tool");
                format!("{count} left out; `gantry tools check` says why")
            }
            None => "`gantry tools list` shows what there is".to_owned(),
        };
        Err(Exit::new(Code::NotFound, format!("there is no tool `{name}`")).hint(hint))
    }

    /// What the program of that name, or `name@version`, says of itself; nothing for a tool in
    /// code. Without a version it is the newest.
    pub(crate) fn manifest(&self, name: &str) -> Option<Arc<Manifest>> {
        let (name, version) = match name.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (name, None),
        };
        let snapshot = self.server.gateway().catalog().snapshot();
        let name = snapshot.tool(name).map_or(name, |tool| &tool.name);
        let mut all = self.tools.manifests().into_iter();
        all.find(|it| it.name == name && version.is_none_or(|version| it.version == version))
    }
}

/// `1 tool`, `2 tools`.
fn tally(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub(crate) async fn print_specification(options: &SpecOptions) -> Result<(), Exit> {
    let opened = open_target(&options.reach, Some(&options.name)).await?;
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
