//! The tools of the running gateway, as the local user sees them.

use gantry::{Problem, RawJson};
use gantry_providers::suggestion::nearest;

use crate::cli::admin_client::{AdminClient, Session, page_in};
use crate::cli::args::ToolSource;
use crate::cli::exit::{Code, Exit};

/// A connection to the gateway that is meant; none if this process is, or no gateway runs.
pub(crate) async fn running(source: &ToolSource) -> Result<Option<Session>, Exit> {
    let Some(reach) = source.running() else { return Ok(None) };
    match AdminClient::find_any(&reach).await? {
        Some(running) => running.connect().await.map(Some),
        None => Ok(None),
    }
}

/// The definition of the tool of that name, which may have a version or be the name in the contract.
pub(crate) fn definition(definitions: &[RawJson], name: &str) -> Option<RawJson> {
    let (base, version) = match name.split_once('@') {
        Some((base, version)) => (base, Some(version)),
        None => (name, None),
    };
    let shown = base.replace('.', "_");
    let text = |it: &RawJson, path: &[&str]| it.at(path).and_then(|it| it.to_text());
    let is_named = |it: &&RawJson, name: &str| text(it, &["name"]).as_deref() == Some(name);
    let found = definitions.iter().find(|it| is_named(it, base));
    let found = found.or_else(|| definitions.iter().find(|it| is_named(it, &shown)))?;
    // An older version may take other arguments.
    let listed = text(found, &["_meta", "gantry/tool", "version"]);
    (version.is_none() || version == listed.as_deref()).then(|| found.clone())
}

/// That the running gateway has no tool of that name.
pub(crate) fn unlisted(definitions: &[RawJson], name: &str, source: &ToolSource) -> Exit {
    let names: Vec<String> =
        definitions.iter().filter_map(|it| it.get("name")?.to_text()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let words = source.words();
    let hint = match nearest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!(
            "`gantry tools list{words}` shows its tools; `--local` reads the configuration of this \
             folder instead"
        ),
    };
    let text = format!("the running gateway has no tool `{name}`");
    Exit::new(Code::NotFound, text).hint(hint)
}

impl Session {
    /// What is wrong with tools that the gateway left out.
    pub(super) async fn problems(&self) -> Result<Vec<Problem>, Exit> {
        let told = self.running.get("/api/tools").await?;
        let problem = |it: RawJson| {
            let text = |key: &str| it.get(key).and_then(|it| it.to_text()).unwrap_or_default();
            Problem {
                file: text("file").into(),
                line: it.get("line").and_then(|it| it.read()),
                message: text("message"),
                advice: text("advice"),
                is_warning: it.get("warning").and_then(|it| it.read()).unwrap_or_default(),
            }
        };
        Ok(told.get("problems").iter().flat_map(RawJson::elements).map(problem).collect())
    }

    /// A line for each server whose definitions are not as they were pinned.
    pub(super) async fn changed(&self) -> Result<Vec<String>, Exit> {
        let told = self.running.get("/api/servers").await?;
        Ok(told.get("pins").and_then(|it| it.read()).unwrap_or_default())
    }

    /// What the registry of the gateway has under a name, if it is the name of a program.
    pub(super) async fn registered(&self, name: &str) -> Option<RawJson> {
        self.running.get(&page_in("/api/tools/", name, "")).await.ok()
    }

    /// How a tool stands with the policies of the gateway.
    pub(super) async fn standing(&self, name: &str) -> Result<RawJson, Exit> {
        self.running.get(&page_in("/api/tools/", name, "/standing")).await
    }
}
