//! The gateway: identity, catalog, pipeline and events in one handle. A gateway can have virtual
//! servers: each shows a catalog of its own, and all share the same policies and limits.

mod description;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};
use tokio::time::timeout;

use crate::batch;
use crate::call::Call;
use crate::call_stream::CallStream;
use crate::caller::Caller;
use crate::catalog::{Catalog, Catalogs, PageSettings, Publisher};
use crate::catalog::{ListKind, STARTING_TTL_MS};
use crate::context::CallContext;
use crate::entry::ToolEntry;
use crate::error::CallError;
use crate::events::{Events, Interest, Subscribers, Subscription};
use crate::filter::{
    CallFilter, CallObserver, PublishHook, RefusalFilter, RequestFilter, VisibilityFilter,
};
use crate::metrics::{Metrics, ToolStatistics};
use crate::names::NameStyle;
use crate::pipeline::{CheckThreads, Deadline, InFlight, Pipeline, Policies};
use crate::provider::{Completeness, Outcome, Provider, Target};
use crate::subscriptions::Watcher;

pub use self::description::OptionalCapabilities;

/// Who this server says it is.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The implementation object: `name`, `version` and whatever else.
    pub info: RawJson,
    /// How to use this server, for the model.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// A server of that name and version.
    pub fn new(name: &str, version: &str) -> Self {
        let info = ObjectWriter::new().value("name", name).value("version", version).finish();
        Self { info, instructions: None }
    }
}

/// Every limit of the middle, with its default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a provider may work on a call.
    pub deadline: Duration,
    /// How long it may work on one that runs by itself, as a task.
    pub task_deadline: Duration,
    /// Calls under way at once.
    pub calls_in_flight: usize,
    /// Notices a call may have waiting for its client.
    pub notifications: usize,
    /// How long a client may take to answer a question.
    pub answer_within: Duration,
    /// How often one call may ask its client for input by way of its reply.
    pub input_rounds: usize,
    /// Threads for checks of large values against schemas.
    pub check_threads: usize,
    /// Checks that may wait for one of them.
    pub checks_waiting: usize,
    /// Items on a page of a list. Many clients read only the first page.
    pub page_size: usize,
    /// Bytes of the items on a page of a list. An item that is larger has a page of its own.
    pub page_bytes: usize,
    /// How long clients may keep a list before they ask again, in milliseconds.
    pub list_ttl_ms: u64,
    /// Whether lists are the same for everyone and may be kept by shared caches.
    pub lists_are_public: bool,
    /// What the names of tools and prompts look like in lists.
    pub names: NameStyle,
    /// How long changes of a list are gathered into one notification.
    pub settle: Duration,
    /// Tools that have rows of their own in the metrics; the rest is summed up as `other`.
    pub tools_labelled: usize,
    /// Tools that are told apart in the statistics; calls of any beyond are counted together.
    pub tools_counted: usize,
    /// Calls in one batch.
    pub batch_calls: usize,
    /// Calls of one batch under way at once.
    pub batch_parallel: usize,
    /// References to earlier results in one batch.
    pub batch_references: usize,
    /// Bytes of earlier results that may be filled into one call of a batch.
    pub batch_filled: usize,
    /// Bytes of earlier results that the references of one batch may look through.
    pub batch_searched: usize,
    /// Bytes that the results of one batch may have together.
    pub batch_results: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            task_deadline: Duration::from_secs(3600),
            calls_in_flight: 4096,
            notifications: 64,
            answer_within: Duration::from_secs(10 * 60),
            input_rounds: 16,
            check_threads: std::thread::available_parallelism()
                .map_or(1, |it| it.get().div_ceil(2)),
            checks_waiting: 256,
            page_size: 1000,
            page_bytes: 1024 * 1024,
            list_ttl_ms: 60_000,
            lists_are_public: false,
            names: NameStyle::default(),
            settle: Duration::from_millis(20),
            tools_labelled: 200,
            tools_counted: 10_000,
            batch_calls: 100,
            batch_parallel: 8,
            batch_references: 1000,
            batch_filled: 4 * 1024 * 1024,
            batch_searched: 512 * 1024 * 1024,
            batch_results: 32 * 1024 * 1024,
        }
    }
}

/// What the handshake and `server/discover` say.
#[derive(Debug, Clone)]
pub struct Description {
    /// The capabilities object, in the newest form.
    pub capabilities: RawJson,
    /// What of it not every gateway has.
    pub offered: OptionalCapabilities,
    /// Who this is.
    pub info: RawJson,
    /// How to use it.
    pub instructions: Option<String>,
    /// How many tools, resources and prompts there are.
    pub counts: RawJson,
    /// How long all this may be kept, in milliseconds.
    pub ttl_ms: u64,
}

/// The middle, ready for doors.
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

    /// Starts a call. It runs while the door steps it.
    pub fn start(self: &Arc<Self>, call: Call) -> CallStream {
        let call = Arc::new(call);
        let Settings { notifications, answer_within, .. } = self.settings;
        let context = CallContext::new(call.clone(), notifications, answer_within);
        let (gateway, line) = (self.clone(), context.clone());
        if call.method == Method::Batch {
            return CallStream::new(batch::run(gateway, call, line), context);
        }
        CallStream::new(async move { gateway.pipeline.serve(call, line).await }, context)
    }

    /// Refuses a call before it is run. It is counted and audited like every other refused call.
    pub async fn refuse(&self, call: Call, error: CallError) -> Outcome {
        let call = Arc::new(call);
        let Settings { notifications, answer_within, .. } = self.settings;
        let context = CallContext::new(call.clone(), notifications, answer_within);
        self.pipeline.refuse(call, context, error).await
    }

    /// A call that its door answers itself. It is stepped, told of and asked like any other, but
    /// passes no policy and reaches no provider.
    pub fn attend<F>(&self, call: &Call, work: impl FnOnce(CallContext) -> F) -> CallStream
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

    /// Lets a caller hear of changes, of resources only as long as it sees them.
    pub fn subscribe(&self, interest: Interest, caller: &Arc<Caller>) -> Subscription {
        let watch_handle = self.catalog.watching().watch_handle(&interest.resources_watched);
        let watcher = Watcher {
            caller: caller.clone(),
            catalog: Arc::downgrade(&self.catalog),
            policies: self.pipeline.policies.clone(),
        };
        self.events.subscribe(interest).seated(watch_handle, watcher)
    }

    /// Waits until changes of a resource that is watched would be heard of.
    pub async fn watching(&self, uri: &str) {
        self.catalog.watching().in_force(uri).await;
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

    /// Calls under way now.
    pub fn calls_in_flight(&self) -> usize {
        self.pipeline.policies.in_flight.count()
    }

    /// What a call would be for. Nothing is called, and nobody is asked for leave.
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
        Some(async move { drop(timeout(limit, catalog.arrival(&call)).await) })
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

    /// Tells the clients of this gateway and of all its faces that what they see may have changed,
    /// although nothing else was published: who may see what is another question now.
    pub fn lists_may_have_changed(&self) {
        self.pipeline.policies.subscribers.tell();
    }

    /// Has screens look again at all that is listed, here and at all faces: what they show in its
    /// place may be another now.
    pub fn run_publish_hooks(&self) {
        self.pipeline.policies.catalogs.run_publish_hooks();
    }

    /// What the handshake says to this caller.
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
}

/// Puts a gateway together.
pub struct GatewayBuilder {
    identity: ServerInfo,
    settings: Settings,
    observers: Vec<Box<dyn CallObserver>>,
    request_filters: Vec<Box<dyn RequestFilter>>,
    call_filters: Vec<Box<dyn CallFilter>>,
    refusals: Vec<Box<dyn RefusalFilter>>,
    visibility_filters: Vec<Box<dyn VisibilityFilter>>,
    publish_hooks: Vec<Arc<dyn PublishHook>>,
}

impl GatewayBuilder {
    /// Sets the limits.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Adds a policy that is told of every call's end.
    #[must_use]
    pub fn observer(mut self, observer: impl CallObserver + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Adds a policy that sees only the name.
    #[must_use]
    pub fn request_filter(mut self, request_filter: impl RequestFilter + 'static) -> Self {
        self.request_filters.push(Box::new(request_filter));
        self
    }

    /// Adds a policy that sees what the call is for.
    #[must_use]
    pub fn call_filter(mut self, call_filter: impl CallFilter + 'static) -> Self {
        self.call_filters.push(Box::new(call_filter));
        self
    }

    /// Adds a policy that sees calls which were refused, or for what does not exist.
    #[must_use]
    pub fn refusal_filter(mut self, filter: impl RefusalFilter + 'static) -> Self {
        self.refusals.push(Box::new(filter));
        self
    }

    /// Adds a policy that decides what a caller may know of.
    #[must_use]
    pub fn visibility_filter(mut self, visibility_filter: impl VisibilityFilter + 'static) -> Self {
        self.visibility_filters.push(Box::new(visibility_filter));
        self
    }

    /// Adds a policy that looks at what is listed before anyone sees it.
    #[must_use]
    pub fn publish_hook(mut self, publish_hook: impl PublishHook + 'static) -> Self {
        self.publish_hooks.push(Arc::new(publish_hook));
        self
    }

    /// The gateway.
    pub fn build(self) -> Arc<Gateway> {
        let Self {
            identity,
            settings,
            observers,
            request_filters,
            call_filters,
            refusals,
            visibility_filters,
            publish_hooks,
        } = self;
        let policies = Policies {
            metrics: Metrics::new(settings.tools_labelled, settings.tools_counted),
            observers,
            in_flight: InFlight::new(settings.calls_in_flight),
            request_filters,
            call_filters,
            refusals,
            visibility_filters,
            publish_hooks,
            deadline: Deadline { usual: settings.deadline, task: settings.task_deadline },
            rounds: settings.input_rounds,
            checks: CheckThreads::new(settings.check_threads, settings.checks_waiting),
            subscribers: Subscribers::default(),
            catalogs: Catalogs::default(),
        };
        Gateway::over(identity, settings, Arc::new(policies))
    }
}

impl std::fmt::Debug for GatewayBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GatewayBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Another face of this gateway: an identity, a catalog and events of its own. Its calls pass
    /// the same policies, and count towards the same limits.
    #[must_use]
    pub fn virtual_server(self: &Arc<Self>, identity: ServerInfo) -> Arc<Self> {
        Self::over(identity, self.settings.clone(), self.pipeline.policies.clone())
    }

    /// A gateway with an empty catalog over these policies.
    fn over(identity: ServerInfo, settings: Settings, policies: Arc<Policies>) -> Arc<Self> {
        let events = Arc::new(Events::new(settings.settle));
        policies.subscribers.join(&events);
        let pages = PageSettings {
            size: settings.page_size.max(1),
            bytes: settings.page_bytes,
            ttl_ms: settings.list_ttl_ms,
            public: settings.lists_are_public,
            names: settings.names,
        };
        let catalog = Arc::new(Catalog::new(pages, policies.publish_hooks.clone(), events.clone()));
        policies.catalogs.join(&catalog);
        let pipeline = Pipeline { catalog: catalog.clone(), policies };
        let instructions = ArcSwapOption::empty();
        Arc::new(Self { identity, instructions, settings, catalog, pipeline, events })
    }
}
