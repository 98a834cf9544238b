//! What one server exports, read from its lists, and the problems with what cannot be exported.
//!
//! A definition that did not change keeps its entry, so that its schema is not compiled again.
//! Arguments are checked against the server's schema, but defaults are left to the server, and so
//! is the timeout: the client can say who took too long.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gantry_client::{List, Target};
use gantry_gateway::glob::chosen;
use gantry_gateway::{
    Caller, EntryError, Origin, PromptEntry, ResourceEntry, SchemaLimits, TaskSupport,
    TemplateEntry, ToolEntry, UpstreamDefinition,
};
use gantry_protocol::RawJson;
use gantry_protocol::meta::key;

use super::config::UpstreamConfig;
use super::lists::Lists;
use super::upstream::Upstream;
use super::{Override, naming};
use crate::uri_template::Template;

/// The most problems that are told one by one.
const PROBLEMS: usize = 100;

/// What one server has to offer, in the order of its own names.
#[derive(Debug, Clone, Default)]
pub(super) struct Exports {
    /// Its tools, each under its own name as far as the protocol allows it.
    pub(super) tools: Vec<ExportedTool>,
    pub(super) prompts: Vec<Arc<PromptEntry>>,
    pub(super) resources: Vec<Arc<ResourceEntry>>,
    /// Its templates; one that cannot be parsed matches nothing.
    pub(super) templates: Vec<(Arc<TemplateEntry>, Option<Arc<Template>>)>,
    pub(super) instructions: Option<String>,
    /// What cannot be offered, or not as it is.
    pub(super) problems: Vec<String>,
    /// Whether it is not offered, because the server stays away, and only keeps its names.
    pub(super) is_withdrawn: bool,
    /// Whether its tools and its prompts were read from a cache.
    pub(super) cached: [bool; 2],
    /// Whether its tools were read as those of a server that may make a task of any call.
    pub(super) makes_tasks: bool,
}

/// A tool of a server.
#[derive(Debug, Clone)]
pub(super) struct ExportedTool {
    /// What the server calls it.
    pub(super) own: String,
    pub(super) entry: Arc<ToolEntry>,
    /// When its calls are tasks.
    pub(super) tasks: Tasks,
    /// The definition as the server said it.
    source: RawJson,
}

impl Exports {
    /// What a server offers that takes the place of another, until it has spoken itself.
    pub(super) fn after(server: &Upstream, before: &Upstream) -> Self {
        let (now, then) = (&server.config, &before.config);
        let kind = |config: &UpstreamConfig| matches!(config.target, Ok(Target::Http(..)));
        let is_alike = now.overrides == then.overrides
            && now.task == then.task
            && now.validation == then.validation
            && now.templates == then.templates
            && now.client.at_most == then.client.at_most
            && now.client.connect_within == then.client.connect_within
            && kind(now) == kind(then);
        let exports = before.exports.load_full();
        let known = if is_alike { &*exports } else { &Self::default() };
        Self::read(now, &before.lists.load(), known)
    }

    /// The same, of a server that stays away.
    pub(super) fn withdrawn(&self) -> Self {
        Self { is_withdrawn: true, ..self.clone() }
    }

    /// Reads the lists. What `before` has read already is taken from there.
    pub(super) fn read(config: &UpstreamConfig, lists: &Lists, before: &Self) -> Self {
        let origin = config.origin();
        let mut problems: Vec<String> = lists.troubles().map(str::to_owned).collect();
        let mut exports = Self {
            tools: tools(config, &origin, lists, before, &mut problems),
            prompts: entries(
                lists.items(List::Prompts),
                |it| {
                    let is_cached = lists.is_cached(List::Prompts);
                    let entry = PromptEntry::new(it)?;
                    Ok(PromptEntry { origin: Some(origin.clone()), is_cached, ..entry })
                },
                |it| &it.name,
                &mut problems,
            ),
            resources: entries(
                lists.items(List::Resources),
                |it| Ok(ResourceEntry { origin: Some(origin.clone()), ..ResourceEntry::new(it)? }),
                |it| &it.uri,
                &mut problems,
            ),
            templates: templates(config, &origin, lists, &mut problems),
            instructions: lists.instructions.clone(),
            problems: Vec::new(),
            is_withdrawn: false,
            cached: [List::Tools, List::Prompts].map(|list| lists.is_cached(list)),
            makes_tasks: lists.makes_tasks,
        };
        if problems.len() > PROBLEMS {
            let more = problems.len() - PROBLEMS;
            problems.truncate(PROBLEMS);
            problems.push(format!("and {more} more"));
        }
        exports.problems = problems;
        exports
    }
}

fn tools(
    config: &UpstreamConfig,
    origin: &Arc<Origin>,
    lists: &Lists,
    before: &Exports,
    problems: &mut Vec<String>,
) -> Vec<ExportedTool> {
    let is_alike = before.makes_tasks == lists.makes_tasks;
    let known: HashMap<&RawJson, &ExportedTool> =
        before.tools.iter().filter(|_| is_alike).map(|tool| (&tool.source, tool)).collect();
    let is_cached = lists.is_cached(List::Tools);
    let is_known = |tool: &&&ExportedTool| {
        tool.entry.origin.as_ref() == Some(origin) && tool.entry.is_cached == is_cached
    };
    let (mut seen, mut tools) = (HashSet::new(), Vec::new());
    for source in lists.items(List::Tools) {
        let Some(own) = source.get("name").and_then(|name| name.to_text()) else {
            problems.push("a tool without a name is left out".to_owned());
            continue;
        };
        if !chosen(&config.include, &config.exclude, &own) {
            continue;
        }
        if !seen.insert(own.clone()) {
            problems.push(format!("the tool `{own}` is listed twice; the first one is offered"));
            continue;
        }
        if let Some(tool) = known.get(source).filter(is_known) {
            tools.push((*tool).clone());
            continue;
        }
        let tasks = Tasks::read(config, &own, source);
        let execution = tasks.shown(source, lists.makes_tasks);
        match tool(config, origin, &own, source, tasks, execution) {
            Ok((mut entry, tasks)) => {
                entry.is_cached = is_cached;
                let (entry, source) = (Arc::new(entry), source.clone());
                tools.push(ExportedTool { own, entry, tasks, source });
            }
            Err(error) => problems.push(format!("the tool `{own}` is left out: {error}")),
        }
    }
    tools.sort_by(|one, other| one.own.cmp(&other.own));
    tools
}

fn tool(
    config: &UpstreamConfig,
    origin: &Arc<Origin>,
    own: &str,
    source: &RawJson,
    tasks: Tasks,
    execution: Option<RawJson>,
) -> Result<(ToolEntry, Tasks), EntryError> {
    let instead = config.overrides.get(own);
    let text = |pick: fn(&Override) -> &Option<String>| {
        instead.and_then(|it| pick(it).as_deref()).map(RawJson::string)
    };
    let name = naming::own(own);
    let definition = source
        .edit()
        .set_some("name", (name != own).then(|| RawJson::string(&name)))
        .set_some("title", text(|it| &it.title))
        .set_some("description", text(|it| &it.description))
        .set_some("execution", execution)
        .apply();
    // Annotations for HTTP headers bind only those who speak HTTP to the server.
    let mut limits = SchemaLimits::default();
    limits.steps = config.validation.unwrap_or(limits.steps);
    let mut entry = match &config.target {
        Ok(Target::Http(..)) => ToolEntry::within(definition, limits)?,
        _ => ToolEntry::within(definition.clone(), limits)
            .or_else(|_| ToolEntry::ignoring_headers(definition, limits))?,
    };
    // The client keeps the time itself, and can say more about who took too long.
    entry.timeout = config.call_timeout();
    entry.fill_defaults = false;
    entry.origin = Some(origin.clone());
    // What is configured here is no word of the server's.
    entry.own = Arc::new(UpstreamDefinition { name: own.to_owned(), definition: source.clone() });
    if tasks.can_wait(source) {
        entry.task_support = TaskSupport::Optional;
    }
    Ok((entry, tasks))
}

fn templates(
    config: &UpstreamConfig,
    origin: &Arc<Origin>,
    lists: &Lists,
    problems: &mut Vec<String>,
) -> Vec<(Arc<TemplateEntry>, Option<Arc<Template>>)> {
    let list = lists.items(List::Templates);
    let read = |it| Ok(TemplateEntry { origin: Some(origin.clone()), ..TemplateEntry::new(it)? });
    let entries = entries(list, read, |it| &it.uri_template, problems);
    let (most, mut used) = (config.templates, 0);
    let mut parse = |entry: Arc<TemplateEntry>| {
        // Nothing is compiled any more once the memory is used up: compiling costs time too.
        let parsed = (used <= most).then(|| Template::parse(&entry.uri_template));
        used += parsed.iter().flatten().map(Template::memory).sum::<usize>();
        let problem = match parsed {
            Some(Ok(template)) if used <= most => return (entry, Some(Arc::new(template))),
            Some(Err(error)) => error.to_string(),
            _ => format!(
                "the URI templates of the server take more than {most} bytes when they are \
                 compiled; raise `limits.templates` of the server"
            ),
        };
        let template = &entry.uri_template;
        problems.push(format!("no resource of the template `{template}` can be read: {problem}"));
        (entry, None)
    };
    entries.into_iter().map(&mut parse).collect()
}

fn entries<T>(
    list: &[RawJson],
    read: impl Fn(RawJson) -> Result<T, EntryError>,
    name: impl Fn(&T) -> &str,
    problems: &mut Vec<String>,
) -> Vec<Arc<T>> {
    let (mut seen, mut entries) = (HashSet::new(), Vec::new());
    for definition in list {
        match read(definition.clone()) {
            Ok(entry) if seen.insert(name(&entry).to_owned()) => entries.push(Arc::new(entry)),
            Ok(entry) => {
                let name = name(&entry);
                problems.push(format!("`{name}` is listed twice; the first one is offered"));
            }
            Err(error) => problems.push(format!("left out of a list: {error}")),
        }
    }
    entries.sort_by(|one, other| name(one).cmp(name(other)));
    entries
}

/// When calls of a tool are tasks.
#[derive(Debug, Clone, Copy)]
pub(in crate::upstreams) struct Tasks {
    /// Whether the server may, or must, be asked to make one (2025-11-25).
    support: TaskSupport,
    /// Whether every call runs long, whatever the server makes of it.
    pub(in crate::upstreams) is_long: bool,
}

impl Tasks {
    fn read(config: &UpstreamConfig, own: &str, source: &RawJson) -> Self {
        let said = config.overrides.get(own).and_then(|it| it.task);
        Self { support: TaskSupport::read(source), is_long: said.unwrap_or(config.task) }
    }

    /// Whether the server is asked to make a task of this client's call.
    pub(in crate::upstreams) fn are_wanted(self, caller: &Caller) -> bool {
        match self.support {
            TaskSupport::Forbidden => false,
            TaskSupport::Optional => caller.capabilities.tasks,
            TaskSupport::Required => true,
        }
    }

    /// What the definition says of it where the server does not. The doors show it to those clients
    /// alone whose revision says it of tools.
    fn shown(self, source: &RawJson, makes_tasks: bool) -> Option<RawJson> {
        let execution = source.get("execution").filter(RawJson::is_object);
        let execution = execution.unwrap_or(RawJson::EMPTY_OBJECT);
        let is_said = execution.get("taskSupport").is_some();
        let is_new = self.is_long && self.support == TaskSupport::Forbidden;
        (is_new || makes_tasks && !is_said)
            .then(|| execution.edit().set("taskSupport", RawJson::string("optional")).apply())
    }

    /// Whether a client that cannot come back waits here for a task that the server must make. It
    /// does unless the server would not have it.
    fn can_wait(self, source: &RawJson) -> bool {
        let refuses = source.at(&[key::META, key::TASKS_ONLY]);
        self.support == TaskSupport::Required
            && refuses.is_none_or(|refuses| refuses.as_str() != "true")
    }
}

#[cfg(test)]
mod tests;
