//! The policy pipeline, the only way to a tool: every call passes the same stages in the same order, like
//! middleware. Each stage has its reason beside it.
//!
//! A failure of a tool is a result with `isError`, which the model can read; a failure of the request is an error.

mod call_record;
mod deadline;
mod provider_call;
mod validation;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gantry_protocol::Method;
use gantry_transport::{LARGE, offload};
use tokio::time::Instant;

use self::call_record::CallRecord;
use self::provider_call::call_provider;
use self::validation::{check_arguments, check_result, fill_defaults};
use crate::call::Call;
use crate::caller::Caller;
use crate::catalog::{Catalog, Catalogs, ListKind};
use crate::context::CallContext;
use crate::error::{CallError, ErrorKind};
use crate::error_detail::ErrorDetail;
use crate::events::Subscribers;
use crate::filter::{
    CallFilter, CallObserver, PolicyDecision, PublishHook, RefusalFilter, RequestFilter, View,
    VisibilityFilter,
};
use crate::metrics::Metrics;
use crate::provider::{Completeness, Outcome, Reply, Resolved, Target};
use crate::telemetry;

pub(crate) use self::deadline::Deadline;
pub(crate) use self::validation::CheckThreads;
pub use self::validation::check_arguments_early;

/// The stages in their order. A test holds the code to it.
pub const STAGES: [&str; 11] = [
    "metrics and observers", // outermost: refused calls are counted and audited too
    "in flight",             // before anything costs something
    "request filters",       // limits see only the name: guessing names costs too
    "resolve",               // from here on the catalog entry is known
    "defaults", // before the call filters: they judge the arguments that the tool runs with
    "call filters", // authorization, trust, approval: may wait for a person, so the call is already counted
    "arguments",    // after the call filters: who may not call a tool may not probe its schema
    "begun",        // no call reaches a provider before strict observers have recorded it
    "deadline",     // counts the provider's time, not a person's
    "provider",     //
    "result",       // checked against the output schema before anyone relies on it
];

/// The filters and the catalog. Providers are reached through the pipeline only.
pub struct Pipeline {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policies: Arc<Policies>,
}

/// What every call passes, whichever virtual server it uses.
pub(crate) struct Policies {
    pub(crate) metrics: Metrics,
    pub(crate) observers: Vec<Box<dyn CallObserver>>,
    pub(crate) in_flight: InFlight,
    pub(crate) request_filters: Vec<Box<dyn RequestFilter>>,
    pub(crate) call_filters: Vec<Box<dyn CallFilter>>,
    pub(crate) refusals: Vec<Box<dyn RefusalFilter>>,
    pub(crate) visibility_filters: Vec<Box<dyn VisibilityFilter>>,
    pub(crate) publish_hooks: Vec<Arc<dyn PublishHook>>,
    /// Threads for schema validation that takes long.
    pub(crate) checks: CheckThreads,
    pub(crate) deadline: Deadline,
    pub(crate) rounds: usize,
    /// The subscribers that are notified when lists may have changed.
    pub(crate) subscribers: Subscribers,
    /// The catalogs of the gateway and of its virtual servers.
    pub(crate) catalogs: Catalogs,
}

impl Policies {
    /// What the caller sees, by each policy that has a say; all of them must agree.
    pub(crate) fn views(&self, caller: &Caller) -> Vec<View> {
        self.visibility_filters
            .iter()
            .filter_map(|visibility_filter| visibility_filter.view(caller))
            .collect()
    }

    /// Whether the caller may know of a target: one that is held back is no secret.
    fn may_know(&self, caller: &Caller, target: &Target) -> bool {
        self.views(caller).iter().all(|view| !view.is_secret || (view.sees)(target))
    }
}

impl Pipeline {
    /// Runs one call through all stages.
    pub(crate) fn run(
        &self,
        call: Arc<Call>,
        context: CallContext,
    ) -> impl Future<Output = Outcome> {
        telemetry::scope(context.clone(), self.run_recorded(call, context))
    }

    async fn run_recorded(&self, call: Arc<Call>, context: CallContext) -> Outcome {
        let mut record = CallRecord::start(self, &call, &context);
        let method = call.method.clone();
        let outcome = self.run_stages(call, &context, &mut record).await;
        if let Err(error) = &outcome
            && error.kind.is_refusal()
        {
            // Refused before it was resolved: the audit log has it under its canonical name too.
            record.set_target_if_unknown(|call| {
                self.catalog.find(call).ok().map(|(target, _)| target)
            });
        }
        let outcome =
            record.release_permits(outcome).map_err(|error| record.apply_refusal_filters(error));
        let outcome = outcome.map_err(log_private);
        // Before some refusals become results.
        record.count_refusal(&outcome);
        record.finish(as_tool_result(&method, outcome)).await
    }

    /// Records a call that is refused before anything else looks at it.
    pub(crate) async fn refuse(
        &self,
        call: Arc<Call>,
        context: CallContext,
        error: CallError,
    ) -> Outcome {
        let recording = async {
            let mut record = CallRecord::start(self, &call, &context);
            if let Ok(resolved) = self.catalog.resolve(call.clone(), |_| true) {
                record.set_target(&resolved.target);
            }
            let outcome = record.release_permits(Err(log_private(error)));
            record.finish(outcome).await
        };
        telemetry::scope(context.clone(), recording).await
    }

    async fn run_stages(
        &self,
        call: Arc<Call>,
        context: &CallContext,
        record: &mut CallRecord<'_>,
    ) -> Outcome {
        let policies = &self.policies;
        let permit = policies.in_flight.enter();
        let _permit = permit.inspect_err(|_| context.note_decision(too_many_in_flight()))?;
        for request_filter in &policies.request_filters {
            record.keep_permit(request_filter.check(&call, context).verdict().await?);
        }
        if let Some(kind) = list_kind(&call.method) {
            return self.list(kind, &call).await;
        }
        let caller = call.caller.clone();
        let sees = |target: &Target| policies.may_know(&caller, target);
        // All waits for a server that is starting keep to one deadline together: clients give up
        // after a time of their own.
        let (came, at_listener) = (Instant::now(), call.waited.unwrap_or_default());
        let max_wait = if call.waited.is_some() { Duration::ZERO } else { policies.deadline.usual };
        let mut resolved = self.catalog.resolve_within(call, sees, max_wait).await?;
        if resolved.target.is_cached() {
            record.set_target(&resolved.target);
            let left = policies.deadline.left_after(at_listener + came.elapsed());
            resolved = Box::pin(self.relisted(resolved, left)).await?;
        }
        let waited = at_listener + came.elapsed();
        let size = resolved.size();
        let resolved = match size > LARGE {
            true => Box::pin(offload(size, move || fill_defaults(resolved))).await,
            false => fill_defaults(resolved),
        };
        record.set_target(&resolved.target);
        for call_filter in &policies.call_filters {
            let verdict = call_filter.check(&resolved, context).verdict().await;
            record.keep_permit(verdict.map_err(|error| self.refusal(&resolved, error))?);
        }
        // A call may have waited for a person meanwhile.
        check_credential(&resolved.call.caller)?;
        // Its server was not asked for it, since the caller does not see it.
        if resolved.target.is_cached() {
            return Err(self.catalog.absent(&resolved.call, sees));
        }
        // After the call filters, which reveal less of a tool that the caller may not know of.
        if resolved.call.wants_task {
            return Err(CallError::no_task());
        }
        check_arguments(&policies.checks, &resolved).await?;
        record.before_provider(&resolved).await?;
        let target = resolved.target.clone();
        if let Some(retry) = target.call_back() {
            context.hang_up(retry);
        }
        let usual = resolved.provider.timeout(&target).unwrap_or(policies.deadline.usual);
        let served = pin!(call_provider(resolved, context, policies.rounds));
        let reply = Deadline { usual, ..policies.deadline }.run(context, waited, served).await?;
        check_result(&policies.checks, &caller.principal, &target, reply).await
    }

    /// A page of a list. Its first page waits for what is about to be listed; while that is not
    /// all there, what is there may not be kept for long.
    async fn list(&self, kind: ListKind, call: &Call) -> Outcome {
        if call.params.get("cursor").is_none() {
            Box::pin(self.catalog.wait_until_complete(call.listing_since)).await;
        }
        let views = self.policies.views(&call.caller);
        let page = self.catalog.list(kind, &call.params, &views)?;
        Ok(Reply::Page(match self.catalog.completeness() {
            Completeness::Starting => page.while_starting(),
            _ => page,
        }))
    }

    /// The call with the definition that its server lists now: a cached one is neither judged nor
    /// called. For a caller who may not know of it no server is asked, nor started.
    async fn relisted(&self, resolved: Resolved, within: Duration) -> Result<Resolved, CallError> {
        let caller = resolved.call.caller.clone();
        let sees = |target: &Target| self.policies.may_know(&caller, target);
        if !sees(&resolved.target) {
            return Ok(resolved);
        }
        let listing = resolved.provider.relisted(&resolved.target);
        tokio::time::timeout(within, listing).await.map_err(|_| {
            let (name, server) = (resolved.target.name(), resolved.target.origin());
            let server = server.map_or_else(|| resolved.provider.name(), |origin| &origin.server);
            let text = format!(
                "`{name}` was not called: the server `{server}` did not list it again in time; \
                 `gantry status {server}` shows its state"
            );
            CallError::new(ErrorKind::Timeout, text)
        })??;
        self.catalog.resolve(resolved.call, sees)
    }

    /// What a caller is told of a call that a policy refuses. What one may not see does not exist,
    /// so that nobody learns of it by calling it. The local user can read the configuration, and is
    /// told what to do.
    fn refusal(&self, resolved: &Resolved, error: CallError) -> CallError {
        let caller = &resolved.call.caller;
        let sees = |target: &Target| self.policies.may_know(caller, target);
        if caller.is_local() || sees(&resolved.target) {
            return error;
        }
        let private = error.private.unwrap_or(error.public);
        self.catalog.absent(&resolved.call, sees).with_private(private)
    }
}

/// Refuses a call whose credential was good when it came and is good no more.
fn check_credential(caller: &Caller) -> Result<(), CallError> {
    match caller.lease.as_ref().is_some_and(|lease| lease.is_over()) {
        true => Err(CallError::new(
            ErrorKind::Refused,
            "the credential of this call was revoked or expired while it waited",
        )),
        false => Ok(()),
    }
}

/// The decision that too many calls are in flight.
fn too_many_in_flight() -> PolicyDecision {
    PolicyDecision { allowed: false, policy: "in flight", rule: "calls at once".into() }
}

/// Logs the private text of an error, here, where the log line names the call.
fn log_private(mut error: CallError) -> CallError {
    if let Some(private) = error.private.take() {
        let (blame, retryable) = (error.blame(), error.is_retryable());
        tracing::warn!(error = %error.public, private, ?blame, retryable, "call failed");
    }
    error
}

fn list_kind(method: &Method) -> Option<ListKind> {
    match method {
        Method::ToolsList => Some(ListKind::Tools),
        Method::ResourcesList => Some(ListKind::Resources),
        Method::ResourceTemplatesList => Some(ListKind::Templates),
        Method::PromptsList => Some(ListKind::Prompts),
        _ => None,
    }
}

/// A tool's failure is a result that the model sees; only a bad request is an error.
fn as_tool_result(method: &Method, outcome: Outcome) -> Outcome {
    match outcome {
        Err(error) if *method == Method::ToolsCall => match ErrorDetail::of(&error) {
            Some(detail) => Ok(Reply::result(detail.to_result())),
            None => Err(error),
        },
        outcome => outcome,
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pipeline").field("stages", &STAGES).finish_non_exhaustive()
    }
}

/// Counts calls in flight.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    count: Arc<AtomicUsize>,
    limit: usize,
}

/// One call in flight, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlightPermit(Arc<AtomicUsize>);

impl InFlight {
    /// At most this many at once.
    pub(crate) fn new(limit: usize) -> Self {
        Self { count: Arc::default(), limit }
    }

    /// Calls in flight now.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts one more call, unless the limit is reached.
    pub(crate) fn enter(&self) -> Result<InFlightPermit, CallError> {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        let permit = InFlightPermit(self.count.clone());
        if before < self.limit {
            return Ok(permit);
        }
        let kind = ErrorKind::LimitExceeded { retry_after: Some(Duration::from_secs(1)) };
        let limit = self.limit;
        Err(CallError::new(
            kind,
            format!("too many calls are in flight (limit {limit}); try again shortly"),
        ))
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
