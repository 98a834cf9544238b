//! Finds the target of a call: name resolution for tools, prompts, resources and templates. A name
//! that is not listed yet is waited for while a server that may have it is starting.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, ParamsHead, RawJson};
use tokio::time::{Instant, timeout};

use super::Catalog;
use super::name_index::Listed;
use super::pages::{ListKind, Page};
use super::snapshot::Snapshot;
use crate::call::Call;
use crate::entry::ToolEntry;
use crate::error::{CallError, ErrorKind};
use crate::filter::View;
use crate::provider::{Absence, Completeness, Provider, Resolved, Target};
use crate::resource_uri;
use crate::resource_uri::UnsafeUri;

pub(crate) type Found = (Target, Arc<dyn Provider>);

impl Catalog {
    /// Finds the target of a call and who serves it. `sees` says what its caller may know of.
    pub(crate) fn resolve(
        &self,
        call: Arc<Call>,
        sees: impl Fn(&Target) -> bool,
    ) -> Result<Resolved, CallError> {
        let found = self.find(&call);
        let explained = |error| self.explained(error, &call.head, sees);
        let (target, provider) = found.map_err(explained)?;
        Ok(Resolved { call, target, provider })
    }

    /// The target of a call and who serves it; the error is not explained by any provider.
    pub(crate) fn find(&self, call: &Call) -> Result<Found, CallError> {
        let head = &call.head;
        if let Some(ambiguous) = head.ambiguous {
            return Err(CallError::invalid_params(ambiguous.to_string()));
        }
        if call.method == Method::Complete {
            check_reference(&call.params)?;
        }
        // Two readers could act on different values: the rules on one, the tool on the other.
        if let Some(key) = &head.doubled {
            let text = format!("the member `{key}` in `arguments` appears more than once");
            return Err(CallError::invalid_params(format!("{text}; send it once")));
        }
        self.with(|snapshot| match call.method {
            Method::ToolsCall => snapshot.find_tool(head),
            Method::PromptsGet => snapshot.find_prompt(&text(head.name.as_ref(), "name")?),
            Method::ResourcesRead => snapshot.find_resource(&text(head.uri.as_ref(), "uri")?),
            Method::Complete => snapshot.find_reference(&call.params),
            _ => Err(unserved(&call.method)),
        })
    }

    /// The error for a call of what is not there.
    pub(crate) fn absent(&self, call: &Call, sees: impl Fn(&Target) -> bool) -> CallError {
        let head = &call.head;
        let named = |error: fn(&str) -> CallError, value: Option<&RawJson>, member| {
            text(value, member).map_or_else(|error| error, |name| error(&name))
        };
        let reference = || call.params.get("ref").unwrap_or(RawJson::NULL);
        let error = match call.method {
            Method::ToolsCall => named(tool_not_found, head.name.as_ref(), "name"),
            Method::PromptsGet => named(prompt_not_found, head.name.as_ref(), "name"),
            Method::ResourcesRead => named(resource_not_found, head.uri.as_ref(), "uri"),
            Method::Complete => {
                match reference().get("type").and_then(|it| it.to_text()).as_deref() {
                    Some("ref/prompt") => {
                        named(prompt_not_found, reference().get("name").as_ref(), "name")
                    }
                    _ => named(resource_not_found, reference().get("uri").as_ref(), "uri"),
                }
            }
            _ => unserved(&call.method),
        };
        self.explained(error, head, sees)
    }

    /// The error, or a better one from a provider that knows why there is no such tool. That names
    /// its server, so it is for those who would see the tool if it were there.
    fn explained(
        &self,
        error: CallError,
        head: &ParamsHead,
        sees: impl Fn(&Target) -> bool,
    ) -> CallError {
        match (&error.kind, head.name.as_ref().and_then(RawJson::to_text)) {
            (ErrorKind::ToolNotFound, Some(tool)) => {
                let absence = |provider: Arc<dyn Provider>| provider.absence(&tool);
                let absence = self.providers().into_iter().find_map(absence);
                let is_seen =
                    |it: &Absence| would_be(&tool, it).is_some_and(|target| sees(&target));
                absence.filter(is_seen).map_or(error, |absence| absence.error)
            }
            _ => error,
        }
    }

    /// The page of a list that the call asks for, with what all these views show.
    pub(crate) fn list(
        &self,
        kind: ListKind,
        params: &RawJson,
        views: &[View],
    ) -> Result<Arc<Page>, CallError> {
        let cursor = match params.get("cursor") {
            None => None,
            Some(cursor) => Some(cursor.to_text().ok_or_else(bad_cursor)?),
        };
        let page = self.with(|snapshot| match views {
            [] => snapshot.page(kind, cursor.as_deref()),
            views => snapshot.seen_by(views).page(kind, cursor.as_deref()),
        });
        page.ok_or_else(bad_cursor)
    }

    /// How many things of a kind all these views show.
    pub(crate) fn count(&self, kind: ListKind, views: &[View]) -> usize {
        self.with(|snapshot| match views {
            [] => snapshot.count(kind),
            views => snapshot.seen_by(views).count(kind),
        })
    }

    /// The resource of that URI, as far as all these views show it.
    pub(crate) fn has_resource(&self, uri: &str, views: &[View]) -> Result<(), CallError> {
        let (target, _) = self.with(|snapshot| snapshot.find_resource(uri))?;
        match views.iter().all(|view| (view.sees)(&target)) {
            true => Ok(()),
            false => Err(resource_not_found(uri)),
        }
    }
}

impl Snapshot {
    fn find_tool(&self, head: &ParamsHead) -> Result<Found, CallError> {
        let name = text(head.name.as_ref(), "name")?;
        let listed = self.find_tool_entry(&name).ok_or_else(|| tool_not_found(&name))?;
        Ok(found(listed, Target::Tool))
    }

    fn find_prompt(&self, name: &str) -> Result<Found, CallError> {
        let listed = self.find_prompt_entry(name).ok_or_else(|| prompt_not_found(name))?;
        Ok(found(listed, Target::Prompt))
    }

    fn find_resource(&self, uri: &str) -> Result<Found, CallError> {
        if let Some(listed) = self.listed_resource(uri) {
            return Ok(found(listed, Target::Resource));
        }
        // A server lists what it means. What a client puts into a template may mean one thing to
        // the policies here and another one to the server.
        resource_uri::check(uri).map_err(|reason| refused_uri(uri, reason))?;
        let covering = self.templates.iter().find(|(_, matches)| matches(uri));
        let (listed, _) = covering.ok_or_else(|| resource_not_found(uri))?;
        // What its server is sent is behind the prefix.
        let alias = listed.entry.alias.as_ref().filter(|alias| alias.is_shown);
        let prefix = alias.map_or("", |alias| &*alias.prefix);
        let own = uri.strip_prefix(prefix).unwrap_or(uri);
        let template = &listed.entry.uri_template;
        let template = template.strip_prefix(prefix).unwrap_or(template);
        let checked = match alias {
            Some(_) => resource_uri::check(own),
            None => Ok(()),
        };
        let checked = checked.and_then(|()| resource_uri::check_host(own, template));
        checked.map_err(|reason| refused_uri(uri, reason))?;
        Ok(found(listed, |entry| Target::Template(entry, uri.to_owned())))
    }

    /// Who serves the resource of that URI.
    pub(crate) fn provider_of(&self, uri: &str) -> Option<Arc<dyn Provider>> {
        self.find_resource(uri).ok().map(|(_, provider)| provider)
    }

    fn find_reference(&self, params: &RawJson) -> Result<Found, CallError> {
        let reference = params.get("ref").unwrap_or(RawJson::NULL);
        match reference.get("type").and_then(|kind| kind.to_text()).as_deref() {
            Some("ref/prompt") => self.find_prompt(&text(reference.get("name").as_ref(), "name")?),
            Some("ref/resource") => {
                self.find_template(&text(reference.get("uri").as_ref(), "uri")?)
            }
            _ => Err(CallError::invalid_params(
                "`ref.type` must be \"ref/prompt\" or \"ref/resource\"",
            )),
        }
    }

    /// A template by its own text, or a resource by its URI.
    fn find_template(&self, uri: &str) -> Result<Found, CallError> {
        match self.templates.iter().find(|(listed, _)| listed.entry.uri_template == uri) {
            Some((listed, _)) => Ok(found(listed, |entry| Target::Template(entry, uri.to_owned()))),
            None => self.find_resource(uri),
        }
    }
}

/// What the tool would be if it were there.
fn would_be(tool: &str, absence: &Absence) -> Option<Target> {
    let schema = ObjectWriter::new().value("type", "object").finish();
    let definition = ObjectWriter::new().value("name", tool).raw("inputSchema", &schema).finish();
    let mut entry = ToolEntry::new(definition).ok()?;
    entry.origin = Some(absence.origin.clone());
    Some(Target::Tool(Arc::new(entry)))
}

/// Refuses a reference that a server could read as another one than the policies did.
fn check_reference(params: &RawJson) -> Result<(), CallError> {
    let reference = params.get("ref").unwrap_or(RawJson::NULL);
    let ambiguous = params.ambiguous(&["ref"]);
    match ambiguous.or_else(|| reference.ambiguous(&["type", "name", "uri"])) {
        Some(ambiguous) => Err(CallError::invalid_params(ambiguous.to_string())),
        None => Ok(()),
    }
}

fn found<T>(listed: &Listed<T>, target: impl FnOnce(Arc<T>) -> Target) -> Found {
    (target(listed.entry.clone()), listed.provider.clone())
}

fn tool_not_found(name: &str) -> CallError {
    let text = format!("there is no tool `{name}`; tools/list shows those there are");
    CallError::new(ErrorKind::ToolNotFound, text)
}

fn prompt_not_found(name: &str) -> CallError {
    let text = format!("there is no prompt `{name}`; prompts/list shows those there are");
    CallError::invalid_params(text)
}

/// The error for a URI that nothing answers to.
pub(crate) fn resource_not_found(uri: &str) -> CallError {
    let data = ObjectWriter::new().value("uri", uri).finish();
    CallError::new(ErrorKind::ResourceNotFound, format!("there is no resource `{uri}`"))
        .with_data(data)
}

fn refused_uri(uri: &str, reason: UnsafeUri) -> CallError {
    let data = ObjectWriter::new().value("uri", uri).finish();
    let text = format!(
        "the resource URI `{uri}` is refused: {reason}; write the address without it, as \
         resources/list and resources/templates/list have it"
    );
    CallError::invalid_params(text).with_data(data)
}

fn unserved(method: &Method) -> CallError {
    let text = format!("the method `{method}` is not served here");
    CallError::new(ErrorKind::MethodNotFound, text)
}

fn bad_cursor() -> CallError {
    CallError::invalid_params("the cursor is not one of ours; list again from the start")
}

fn text<'a>(value: Option<&'a RawJson>, member: &str) -> Result<Cow<'a, str>, CallError> {
    let missing = || CallError::invalid_params(format!("`{member}` must be a string"));
    let value = value.ok_or_else(missing)?;
    match value.as_text() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => value.to_text().map(Cow::Owned).ok_or_else(missing),
    }
}

impl Catalog {
    /// How complete the lists of all providers are together.
    pub(crate) fn completeness(&self) -> Completeness {
        self.providers().iter().map(|it| it.completeness()).max().unwrap_or_default()
    }

    /// Waits until the lists are as complete as a client that lists should wait for, whose session
    /// first listed something then.
    pub(crate) async fn wait_until_complete(&self, since: Option<Instant>) {
        let waits: Vec<_> = self.providers().iter().filter_map(|it| it.listed(since)).collect();
        join_all(waits).await;
    }

    /// Finds the target of a call. One that nobody lists is waited for, no longer than this, while
    /// a provider that may have it is about to list what it has.
    pub(crate) async fn resolve_within(
        &self,
        call: Arc<Call>,
        sees: impl Fn(&Target) -> bool,
        limit: Duration,
    ) -> Result<Resolved, CallError> {
        match self.resolve(call.clone(), &sees) {
            Err(_) if limit > Duration::ZERO && self.is_missing(&call) => {
                // On the heap: few calls come here, and it would make every call larger.
                let _ = Box::pin(timeout(limit, self.wait_until_listed(&call))).await;
                self.resolve(call, &sees)
            }
            resolved => resolved,
        }
    }

    /// Waits until what a call names is listed, or nobody is about to list it any more.
    pub(crate) async fn wait_until_listed(&self, call: &Call) {
        loop {
            // Asked for before looking, so that no listing between the two is missed.
            let providers = self.providers();
            let next: Vec<_> = providers.iter().filter_map(|it| it.next_listing(call)).collect();
            if next.is_empty() || !self.is_missing(call) {
                return;
            }
            select_all(next).await;
        }
    }

    /// Whether a call names, in good form, what nobody lists.
    pub(crate) fn is_missing(&self, call: &Call) -> bool {
        let Err(error) = self.find(call) else { return false };
        match error.kind {
            ErrorKind::ToolNotFound | ErrorKind::ResourceNotFound => true,
            // That of a prompt that is not there.
            ErrorKind::InvalidParams => {
                matches!(call.method, Method::PromptsGet | Method::Complete)
            }
            _ => false,
        }
    }
}
