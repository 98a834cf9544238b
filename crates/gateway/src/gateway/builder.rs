//! Builds a gateway from its settings and filters.

use std::fmt;
use std::sync::Arc;

use super::{Gateway, ServerInfo, Settings};
use crate::catalog::Catalogs;
use crate::events::Subscribers;
use crate::filter::{
    CallFilter, CallObserver, PublishHook, RefusalFilter, RequestFilter, VisibilityFilter,
};
use crate::metrics::Metrics;
use crate::pipeline::{CheckThreads, Deadline, InFlight, Policies};

/// Builds a gateway.
pub struct GatewayBuilder {
    pub(super) identity: ServerInfo,
    pub(super) settings: Settings,
    pub(super) observers: Vec<Box<dyn CallObserver>>,
    pub(super) request_filters: Vec<Box<dyn RequestFilter>>,
    pub(super) call_filters: Vec<Box<dyn CallFilter>>,
    pub(super) refusals: Vec<Box<dyn RefusalFilter>>,
    pub(super) visibility_filters: Vec<Box<dyn VisibilityFilter>>,
    pub(super) publish_hooks: Vec<Arc<dyn PublishHook>>,
}

impl GatewayBuilder {
    /// Sets the limits.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Adds an observer of calls.
    #[must_use]
    pub fn observer(mut self, observer: impl CallObserver + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Adds a filter that runs before the target is resolved.
    #[must_use]
    pub fn request_filter(mut self, request_filter: impl RequestFilter + 'static) -> Self {
        self.request_filters.push(Box::new(request_filter));
        self
    }

    /// Adds a filter that runs after the target is resolved. Filters run in the order in which they are added.
    #[must_use]
    pub fn call_filter(mut self, call_filter: impl CallFilter + 'static) -> Self {
        self.call_filters.push(Box::new(call_filter));
        self
    }

    /// Adds a filter of calls that were refused, or whose target does not exist.
    #[must_use]
    pub fn refusal_filter(mut self, filter: impl RefusalFilter + 'static) -> Self {
        self.refusals.push(Box::new(filter));
        self
    }

    /// Adds a filter of what a caller can see.
    #[must_use]
    pub fn visibility_filter(mut self, visibility_filter: impl VisibilityFilter + 'static) -> Self {
        self.visibility_filters.push(Box::new(visibility_filter));
        self
    }

    /// Adds a hook that sees what is listed before it is published.
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

impl fmt::Debug for GatewayBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GatewayBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
