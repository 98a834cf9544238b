//! The provider that one endpoint (the main one, or a virtual server) has for its upstream
//! servers: routes calls, subscriptions and completions to the server that owns the target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::HashMap;
use futures_util::future::BoxFuture;
use gantry_client::{List, Request};
use gantry_gateway::{
    Absence, Call, CallContext, CallError, Completeness, ErrorKind, Outcome, Provider, Publisher,
    Recipients, Resolved, Target, TaskSupport,
};
use gantry_protocol::{Method, RawJson};
use tokio::time::Instant;

use super::call::{self, UpstreamCall};
use super::canonical_names::CanonicalNames;
use super::naming;
use super::publish::{Composed, Part, Route, Routes, Scope, compose};
use super::registry::UpstreamRegistry;
use super::upstream::Upstream;

/// What one gateway shows of the servers.
#[derive(Debug)]
pub(super) struct EndpointProvider {
    /// The server or profile that it shows alone; none if it shows everything.
    pub(super) name: Option<String>,
    /// All servers, shown here or not.
    registry: Weak<UpstreamRegistry>,
    /// Tells it from other endpoints.
    number: u64,
    view: ArcSwap<View>,
    watched: Mutex<BTreeSet<String>>,
}

/// The servers, and the way to them, at one moment.
#[derive(Debug, Default)]
struct View {
    servers: HashMap<Arc<str>, Arc<Upstream>>,
    routes: Routes,
}

impl EndpointProvider {
    pub(super) fn new(registry: Weak<UpstreamRegistry>, name: Option<String>, number: u64) -> Self {
        Self { name, registry, number, view: ArcSwap::default(), watched: Mutex::default() }
    }

    /// Shows what the servers offer now, and gives what is wrong with their names.
    pub(super) fn publish(
        &self,
        (servers, parts): (&[Arc<Upstream>], &[Part]),
        scope: Scope<'_>,
        names: &CanonicalNames,
        publisher: &Publisher,
    ) -> BTreeMap<Arc<str>, Vec<String>> {
        let Composed { listing, routes, problems } =
            compose(parts, scope, names, &self.view.load().routes);
        let names = parts.iter().map(|part| part.server.clone());
        let before = self
            .view
            .swap(Arc::new(View { servers: names.zip(servers.iter().cloned()).collect(), routes }));
        // The way is there before anyone can be sent on it.
        publisher.publish(listing);
        self.forward_watches(&before);
        problems
    }

    /// Tells clients, or some of them, that a resource of a server has new content.
    pub(super) fn updated(
        &self,
        server: &str,
        uri: &str,
        metadata: Option<RawJson>,
        recipients: Option<&Recipients>,
        publisher: &Publisher,
    ) {
        let view = self.view.load();
        if view.servers.contains_key(server) {
            let aliases = view.routes.aliases(server);
            let uri = aliases.map_or(uri.into(), |aliases| aliases.outward(uri));
            match recipients {
                Some(recipients) => {
                    publisher.resource_updated_for(&uri, metadata, recipients.clone());
                }
                None => publisher.resource_updated(&uri, metadata),
            }
        }
    }

    /// Tells every server, and those of `before` too, what is watched of it here.
    fn forward_watches(&self, before: &View) {
        let view = self.view.load();
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_server: HashMap<&Arc<str>, BTreeSet<String>> = HashMap::default();
        for uri in watched.iter() {
            if let Some(server) = view.routes.server_of(uri) {
                let own = view.routes.aliases(server).map_or(&**uri, |it| it.inward(uri));
                by_server.entry(server).or_default().insert(own.to_owned());
            }
        }
        for (name, server) in &view.servers {
            server.watch(self.number, by_server.remove(name).unwrap_or_default());
        }
        for (name, server) in &before.servers {
            if !view.servers.get(name).is_some_and(|it| Arc::ptr_eq(it, server)) {
                server.watch(self.number, BTreeSet::new());
            }
        }
    }

    /// The forwarded call; none if what it is for has just gone.
    fn upstream_call(&self, resolved: &Resolved, context: &CallContext) -> Option<UpstreamCall> {
        let view = self.view.load();
        let (server, request) = view.request(resolved)?;
        let request = call::traced(request, context.trace());
        let aliases = view.routes.aliases(server.name()).cloned();
        let takes_input_requests = resolved.call.takes_input_requests;
        let runs_long = view.runs_long(&resolved.target);
        let context = context.clone();
        let is_one_of_many = view.servers.len() > 1;
        Some(UpstreamCall {
            server,
            aliases,
            request,
            context,
            takes_input_requests,
            runs_long,
            is_one_of_many,
        })
    }
}

impl View {
    fn request(&self, resolved: &Resolved) -> Option<(Arc<Upstream>, Request)> {
        let call = &resolved.call;
        let request = |own: &str| call::request(call, own);
        let (server, request) = match &resolved.target {
            Target::Tool(entry) => {
                let tool = self.routes.tools.get(&entry.name)?;
                let (headers, is_repeatable) = (tool.headers.clone(), tool.is_repeatable);
                let request = Request { headers, is_repeatable, ..request(&tool.route.own) };
                let request = match tool.tasks.are_wanted(&call.caller) {
                    true => call::as_task(request),
                    false => request,
                };
                (&tool.route.server, request)
            }
            Target::Prompt(entry) => {
                let Route { server, own } = self.routes.prompts.get(&entry.name)?;
                (server, request(own))
            }
            Target::Resource(entry) => {
                let server = self.routes.resources.get(&entry.uri)?;
                (server, request(self.own_address(server, &entry.uri)))
            }
            Target::Template(entry, uri) => {
                let server = self.routes.server_of_template(&entry.uri_template)?;
                (server, request(self.own_address(server, uri)))
            }
        };
        Some((self.servers.get(server)?.clone(), request))
    }

    /// Whether calls of that run long, whatever their server makes of them. Of most tools the entry
    /// tells already that they do not.
    fn runs_long(&self, target: &Target) -> bool {
        match target {
            Target::Tool(entry) if entry.task_support != TaskSupport::Forbidden => {
                self.routes.tools.get(&entry.name).is_some_and(|tool| tool.tasks.is_long)
            }
            _ => false,
        }
    }

    /// The server that something is of.
    fn server_of(&self, target: &Target) -> Option<&Arc<Upstream>> {
        let name = match target {
            Target::Tool(entry) => &self.routes.tools.get(&entry.name)?.route.server,
            Target::Prompt(entry) => &self.routes.prompts.get(&entry.name)?.server,
            Target::Resource(entry) => self.routes.resources.get(&entry.uri)?,
            Target::Template(entry, _) => self.routes.server_of_template(&entry.uri_template)?,
        };
        self.servers.get(name)
    }

    /// Waits until the server of a resource was told that it is watched.
    fn watching(&self, uri: &str) -> Option<impl Future<Output = ()> + Send + 'static> {
        let server = self.routes.server_of(uri)?;
        Some(self.servers.get(server)?.watching(self.own_address(server, uri)))
    }

    fn own_address<'a>(&self, server: &str, uri: &'a str) -> &'a str {
        self.routes.aliases(server).map_or(uri, |aliases| aliases.inward(uri))
    }
}

impl Provider for EndpointProvider {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("upstreams")
    }

    fn timeout(&self, target: &Target) -> Option<Duration> {
        self.view.load().server_of(target)?.config.call_timeout()
    }

    fn completeness(&self) -> Completeness {
        let registry = self.registry.upgrade();
        registry
            .map_or(Completeness::Complete, |registry| registry.completeness(self.name.as_deref()))
    }

    fn listed(&self, since: Option<Instant>) -> Option<BoxFuture<'static, ()>> {
        self.registry.upgrade()?.listed(self.name.as_deref(), since)
    }

    fn next_listing(&self, call: &Call) -> Option<BoxFuture<'static, ()>> {
        self.registry.upgrade()?.next_listing(self.name.as_deref(), call)
    }

    fn serve(&self, resolved: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        match self.upstream_call(resolved, context) {
            Some(upstream_call) => Box::pin(async move { upstream_call.run().await }),
            None => {
                let error = target_removed(resolved);
                Box::pin(async { Err(error) })
            }
        }
    }

    fn watched(&self, uris: &BTreeSet<String>) {
        uris.clone_into(&mut self.watched.lock().unwrap_or_else(PoisonError::into_inner));
        self.forward_watches(&View::default());
    }

    fn absence(&self, tool: &str) -> Option<Absence> {
        let view = self.view.load();
        let reserved_for = view.routes.reserved_for(tool);
        let is_meant = |server: &&Arc<Upstream>| match reserved_for {
            Some(reserved_for) => **reserved_for == *server.name(),
            None => {
                self.name.as_deref() == Some(server.name())
                    || naming::begins_with(tool, server.prefix())
            }
        };
        let meant = view.servers.values().filter(is_meant);
        let server = meant.max_by_key(|server| server.prefix().len())?;
        let (name, reason) = (server.name(), server.absence()?);
        let text = format!(
            "the tool `{tool}` cannot be called, for the server `{name}` offers nothing: {reason}; \
             `gantry status` shows how it stands"
        );
        let origin = server.config.origin();
        Some(Absence { origin, error: CallError::new(ErrorKind::Unavailable, text) })
    }

    fn relisted(&self, target: &Target) -> BoxFuture<'static, Result<(), CallError>> {
        let list = match target {
            Target::Prompt(_) => List::Prompts,
            _ => List::Tools,
        };
        match self.view.load().server_of(target).cloned() {
            Some(server) => Box::pin(async move { server.relisted(list).await }),
            // The call finds that it has gone.
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn watching(&self, uri: &str) -> BoxFuture<'static, ()> {
        match self.view.load().watching(uri) {
            Some(told) => Box::pin(told),
            None => Box::pin(std::future::ready(())),
        }
    }
}

/// What a call was for has gone since it was found.
fn target_removed(resolved: &Resolved) -> CallError {
    let name = resolved.target.name();
    let kind = match resolved.call.method {
        Method::ToolsCall => ErrorKind::ToolNotFound,
        Method::ResourcesRead => ErrorKind::ResourceNotFound,
        _ => ErrorKind::InvalidParams,
    };
    CallError::new(kind, format!("`{name}` has just been removed; list again to see what there is"))
}
