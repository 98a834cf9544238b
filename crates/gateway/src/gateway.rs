//! The gateway: identity, catalog, pipeline and events in one handle. A gateway can have virtual
//! servers: each shows a catalog of its own, and all share the same policies and limits.

mod builder;
mod description;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use gantry_protocol::Method;
use gantry_protocol::json::ObjectWriter;
use tokio::time::timeout;

use crate::batch;
use crate::call::Call;
use crate::call_stream::CallStream;
use crate::caller::Caller;
use crate::catalog::{Catalog, ListKind, PageSettings, Publisher, STARTING_TTL_MS};
use crate::context::CallContext;
use crate::entry::ToolEntry;
use crate::error::CallError;
use crate::events::{Events, Interest, Subscription};
use crate::metrics::{Metrics, ToolStatistics};
use crate::pipeline::{Pipeline, Policies};
use crate::provider::{Completeness, Outcome, Provider, Target};
use crate::subscriptions::Subscriber;

pub use self::builder::GatewayBuilder;
pub use self::description::{Description, OptionalCapabilities, ServerInfo};
pub use self::settings::Settings;

/// A gateway: what listeners serve.
#[derive(Debug)]
pub struct Gateway {
    identity: ServerInfo,
    /// What is said instead of the identity's instructions.
    instructions: ArcSwapOption<String>,
    settings: Settings,
    catalog: Arc<Catalog>,
    pipeline: Pipeline,
    events: Arc<Events>,
}

impl Gateway {
    /// Starts to build a gateway.
    pub fn builder(identity: ServerInfo) -> GatewayBuilder {
        GatewayBuilder {
            identity,
            settings: Settings::default(),
            observers: Vec::new(),
            request_filters: Vec::new(),
            call_filters: Vec::new(),
            refusals: Vec::new(),
            visibility_filters: Vec::new(),
            publish_hooks: Vec::new(),
        }
    }

    /// Adds a provider; what it publishes can be called at once.
    pub fn attach(&self, provider: Arc<dyn Provider>) -> Publisher {
        self.catalog.attach(provider)
    }

    /// Starts a call. It runs while the returned stream is polled.
    pub fn start(self: &Arc<Self>, call: Call) -> CallStream {
        let call = Arc::new(call);
        let Settings { notifications, answer_within, .. } = self.settings;
        let context = CallContext::new(call.clone(), notifications, answer_within);
        let (gateway, line) = (self.clone(), context.clone());
        if call.method == Method::Batch {
            return CallStream::new(batch::run(gateway, call, line), context);
        }
        CallStream::new(async move { gateway.pipeline.run(call, line).await }, context)
    }

    /// Refuses a call before it is run. It is counted and audited like every other refused call.
    pub async fn refuse(&self, call: Call, error: CallError) -> Outcome {
        let call = Arc::new(call);
        let Settings { notifications, answer_within, .. } = self.settings;
        let context = CallContext::new(call.clone(), notifications, answer_within);
        self.pipeline.refuse(call, context, error).await
    }

    /// Starts a call that the listener answers itself, such as a request about tasks. It is a stream like
    /// any other call, but passes no filter and reaches no provider.
    pub fn start_local<F>(&self, call: &Call, work: impl FnOnce(CallContext) -> F) -> CallStream
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let Settings { notifications, answer_within, .. } = self.settings;
        let context = CallContext::new(Arc::new(call.clone()), notifications, answer_within);
        CallStream::new(work(context.clone()), context)
    }

    /// What there is to call.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Subscribes a caller to changes; to those of a resource only as long as the caller can see it.
    pub fn subscribe(&self, interest: Interest, caller: &Arc<Caller>) -> Subscription {
        let watch_handle = self.catalog.watching().watch_handle(&interest.resources_watched);
        let subscriber = Subscriber {
            caller: caller.clone(),
            catalog: Arc::downgrade(&self.catalog),
            policies: self.pipeline.policies.clone(),
        };
        self.events.subscribe(interest).with_watch(watch_handle, subscriber)
    }

    /// Waits until the subscription to a resource is in effect at its provider.
    pub async fn watching(&self, uri: &str) {
        self.catalog.watching().wait_until_watched(uri).await;
    }

    /// How long a call may take, unless what it is for says otherwise.
    pub fn deadline(&self) -> Duration {
        self.settings.deadline
    }

    /// The limits.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Who this server says it is.
    pub fn identity(&self) -> &ServerInfo {
        &self.identity
    }

    /// Replaces the instructions for the model; those of the identity if none are given.
    pub fn set_instructions(&self, instructions: Option<String>) {
        self.instructions.store(instructions.map(Arc::new));
    }

    /// Counts and times of calls.
    pub fn metrics(&self) -> &Metrics {
        &self.pipeline.policies.metrics
    }

    /// What is known of each tool that was called, since the start.
    pub fn statistics(&self) -> Vec<ToolStatistics> {
        self.pipeline.policies.metrics.statistics()
    }

    /// Calls in flight now.
    pub fn calls_in_flight(&self) -> usize {
        self.pipeline.policies.in_flight.count()
    }

    /// Resolves the target of a call. Nothing is called, and no filter is asked.
    pub fn target(&self, call: Call) -> Result<Target, CallError> {
        self.catalog.resolve(Arc::new(call), |_| true).map(|resolved| resolved.target)
    }

    /// Waits until a tool of that name is listed, as long as a server that may have it is being
    /// started and no longer than a call may take; none where nothing is to be waited for.
    pub fn awaited_tool(&self, name: &str) -> Option<impl Future<Output = ()> + Send + use<>> {
        if self.catalog.with(|snapshot| snapshot.tool(name).is_some()) {
            return None;
        }
        let params = ObjectWriter::new().value("name", name).finish();
        let call = Call::new(Method::ToolsCall, params, Arc::new(Caller::new("local")));
        let (catalog, limit) = (self.catalog.clone(), self.settings.deadline);
        Some(async move { drop(timeout(limit, catalog.wait_until_listed(&call)).await) })
    }

    /// The tool of that name, if this caller sees it.
    pub fn visible_tool(&self, name: &str, caller: &Caller) -> Option<Arc<ToolEntry>> {
        let tool = self.catalog.with(|snapshot| snapshot.tool(name).cloned())?;
        let target = Target::Tool(tool.clone());
        let views = self.pipeline.policies.views(caller);
        views.iter().all(|view| (view.sees)(&target)).then_some(tool)
    }

    /// Whether this caller may watch a resource. What it does not see is not there.
    pub fn has_resource(&self, uri: &str, caller: &Caller) -> Result<(), CallError> {
        self.catalog.has_resource(uri, &self.pipeline.policies.views(caller))
    }

    /// Notifies the clients of this gateway and of all its virtual servers that their lists may have
    /// changed, since access rules have, although nothing was published.
    pub fn lists_may_have_changed(&self) {
        self.pipeline.policies.subscribers.notify();
    }

    /// Runs the publish hooks again on all that is listed, here and at all virtual servers: their result
    /// may have changed, for example because pins have.
    pub fn run_publish_hooks(&self) {
        self.pipeline.policies.catalogs.run_publish_hooks();
    }

    /// What initialization says to this caller.
    pub fn describe(&self, caller: &Caller) -> Description {
        let counts = self.counts(caller);
        let [tools, resources, _, prompts] = counts;
        let completeness = self.catalog.completeness();
        let offered = OptionalCapabilities::of(counts, completeness);
        Description {
            capabilities: offered.capabilities(),
            offered,
            info: self.identity.info.clone(),
            instructions: self
                .instructions
                .load_full()
                .map(|text| text.as_ref().clone())
                .or_else(|| self.identity.instructions.clone()),
            counts: ObjectWriter::new()
                .value("tools_count", &tools)
                .value("resources_count", &resources)
                .value("prompts_count", &prompts)
                .finish(),
            ttl_ms: match completeness {
                Completeness::Starting => STARTING_TTL_MS,
                _ => self.settings.list_ttl_ms,
            },
        }
    }

    /// Whether a method is of a capability that this caller may know of now. The local user, who
    /// can read the configuration, may know of what is hidden, and is told why it is.
    pub fn offers(&self, method: &Method, caller: &Caller) -> bool {
        let Some(is_offered) = OptionalCapabilities::needed_by(method) else { return true };
        let counts = match caller.is_local() {
            true => ListKind::ALL.map(|kind| self.catalog.count(kind, &[])),
            false => self.counts(caller),
        };
        is_offered(OptionalCapabilities::of(counts, self.catalog.completeness()))
    }

    /// How much of each list this caller sees.
    fn counts(&self, caller: &Caller) -> [usize; 4] {
        let views = self.pipeline.policies.views(caller);
        ListKind::ALL.map(|kind| self.catalog.count(kind, &views))
    }

    /// Creates a virtual server of this gateway: it has an identity, a catalog and events of its own. Its
    /// calls pass the same filters, and count towards the same limits.
    #[must_use]
    pub fn virtual_server(self: &Arc<Self>, identity: ServerInfo) -> Arc<Self> {
        Self::over(identity, self.settings.clone(), self.pipeline.policies.clone())
    }

    /// A gateway with an empty catalog over these policies.
    fn over(identity: ServerInfo, settings: Settings, policies: Arc<Policies>) -> Arc<Self> {
        let events = Arc::new(Events::new(settings.settle));
        policies.subscribers.register(&events);
        let pages = PageSettings {
            size: settings.page_size.max(1),
            bytes: settings.page_bytes,
            ttl_ms: settings.list_ttl_ms,
            public: settings.lists_are_public,
            names: settings.names,
        };
        let catalog = Arc::new(Catalog::new(pages, policies.publish_hooks.clone(), events.clone()));
        policies.catalogs.register(&catalog);
        let pipeline = Pipeline { catalog: catalog.clone(), policies };
        let instructions = ArcSwapOption::empty();
        Arc::new(Self { identity, instructions, settings, catalog, pipeline, events })
    }
}
