//! The capabilities that client and server declare.

use crate::capability::TASKS;
use crate::json::RawJson;
use crate::revision::Revision;

const EXPERIMENTAL: &str = "experimental";
const EXTENSIONS: &str = "extensions";
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Lifts the capabilities of a client of `revision`.
///
/// ```
/// use gantry_protocol::{RawJson, Revision, compat};
/// let old = RawJson::from_static(r#"{"roots":{"listChanged":true},"elicitation":{}}"#);
/// let new = compat::lift_client_capabilities(Revision::V2025_06_18, &old);
/// assert_eq!(new.as_str(), r#"{"roots":{},"elicitation":{"form":{}}}"#);
/// ```
pub fn lift_client_capabilities(revision: Revision, raw: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return raw.clone();
    }
    let mut edit = raw.edit();
    for member in raw.members() {
        let value = member.value();
        edit = match &*member.key() {
            "roots" => edit.set("roots", value.edit().remove("listChanged").apply()),
            "sampling" if !revision.has_sampling_tools() => {
                edit.set("sampling", value.edit().remove("tools").remove("context").apply())
            }
            "elicitation" if !revision.has_elicitation() => edit.remove("elicitation"),
            "elicitation" => edit.set("elicitation", lift_elicitation(revision, &value)),
            "tasks" => edit.remove("tasks"),
            _ => edit,
        };
    }
    edit.apply()
}

/// An empty object means forms, which was all there was.
fn lift_elicitation(revision: Revision, value: &RawJson) -> RawJson {
    let url = revision.has_rich_elicitation() && value.get("url").is_some();
    let edit = match url {
        true => value.edit(),
        false => value.edit().remove("url"),
    };
    match url || value.get("form").is_some() {
        true => edit.apply(),
        false => edit.set("form", RawJson::EMPTY_OBJECT).apply(),
    }
}

/// What 2025-11-25 calls the extension for tasks.
const OLD_TASKS: RawJson =
    RawJson::from_static(r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#);

/// Lowers a server's capabilities to `revision`. Older revisions have no member for extensions, so
/// these move to `experimental`; only tasks have a member of their own, in 2025-11-25.
pub fn lower_server_capabilities(revision: Revision, raw: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return raw.clone();
    }
    let mut edit = raw.edit();
    if !revision.has_completions_flag() {
        edit = edit.remove("completions");
    }
    if let Some(extensions) = raw.get(EXTENSIONS) {
        if revision.has_tasks() && extensions.get(TASKS).is_some() {
            edit = edit.set("tasks", OLD_TASKS);
        }
        let extensions = extensions.edit().remove(TASKS).apply();
        let experimental = raw.get(EXPERIMENTAL);
        edit = edit.remove(EXTENSIONS).set_some(EXPERIMENTAL, merged(experimental, &extensions));
    }
    edit.apply()
}

/// If both name a feature, the experimental one was meant for older peers and wins.
fn merged(experimental: Option<RawJson>, extensions: &RawJson) -> Option<RawJson> {
    extensions.members().next()?;
    let experimental = experimental.unwrap_or(RawJson::EMPTY_OBJECT);
    let mut edit = experimental.edit();
    for member in extensions.members().filter(|it| experimental.get(&it.key()).is_none()) {
        edit = edit.set(member.key().into_owned(), member.value());
    }
    Some(edit.apply())
}

/// Lowers a client's capabilities to `revision`.
///
/// ```
/// use gantry_protocol::{RawJson, Revision, compat};
/// let new = RawJson::from_static(r#"{"roots":{},"elicitation":{"form":{},"url":{}}}"#);
/// let old = compat::lower_client_capabilities(Revision::V2025_06_18, &new);
/// assert_eq!(old.as_str(), r#"{"roots":{},"elicitation":{}}"#);
/// ```
pub fn lower_client_capabilities(revision: Revision, raw: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return raw.clone();
    }
    let mut edit = raw.edit();
    for member in raw.members() {
        let value = member.value();
        edit = match &*member.key() {
            "sampling" if !revision.has_sampling_tools() => {
                edit.set("sampling", value.edit().remove("tools").remove("context").apply())
            }
            "elicitation" => match lower_elicitation(revision, &value) {
                Some(lowered) => edit.set("elicitation", lowered),
                None => edit.remove("elicitation"),
            },
            // This one exists in the newest revision only; older ones have their own tasks.
            EXTENSIONS => edit.set(EXTENSIONS, value.edit().remove(TASKS_EXTENSION).apply()),
            _ => edit,
        };
    }
    edit.apply()
}

/// None if the revision has no elicitation. Before URLs existed, forms had no member of their own.
fn lower_elicitation(revision: Revision, value: &RawJson) -> Option<RawJson> {
    if revision.has_rich_elicitation() {
        return Some(value.clone());
    }
    let forms = value.get("form").is_some() || value.get("url").is_none();
    (revision.has_elicitation() && forms).then(|| value.edit().remove("form").remove("url").apply())
}

/// Lifts the capabilities of a server of `revision`. Tasks become an extension. Before 2025-03-26 there
/// was no capability for completion, so every such server is assumed to have it.
pub fn lift_server_capabilities(revision: Revision, raw: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return raw.clone();
    }
    let mut edit = raw.edit();
    if !revision.has_completions_flag() {
        edit = edit.set("completions", RawJson::EMPTY_OBJECT);
    }
    if let Some(tasks) = raw.get("tasks") {
        edit = edit.remove("tasks");
        if tasks.at(&["requests", "tools", "call"]).is_some() {
            let extensions = raw.get(EXTENSIONS).unwrap_or(RawJson::EMPTY_OBJECT);
            let extensions = extensions.edit().set(TASKS_EXTENSION, RawJson::EMPTY_OBJECT).apply();
            edit = edit.set(EXTENSIONS, extensions);
        }
    }
    edit.apply()
}
