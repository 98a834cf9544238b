//! The audit log: what is recorded of each call and of administration, and whether a call waits until its
//! record is durable. Where records are written is left to the [`AuditSink`].

mod anchor;
mod audit_record;
mod settings;
mod suppressed;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use futures_util::future::{BoxFuture, ready};
use gantry_gateway::filter::{CallEnd, CallObserver, CallSummary, PolicyDecision, Recorded};
use gantry_gateway::{Blame, CallError, ErrorKind, Span, Trace};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson, timestamp};
use tokio::sync::mpsc;

use self::audit_record::Phase;
use self::suppressed::Suppressed;
use crate::approvals::Past;
use crate::limits::REFUSED_CALLS;

pub use self::anchor::{AnchorFlusher, AuditAnchor, AuditAnchors, AuditPosition};
pub use self::settings::{AuditMode, AuditSettings, AuditedArguments, WhenFull};

/// The name of this policy in decisions.
const POLICY: &str = "audit";

/// Where records go: to a file that cannot be changed unseen, in this product.
pub trait AuditSink: Send + Sync {
    /// Takes a record to be written soon: the members of an object, without its braces. Never
    /// waits.
    fn note(&self, record: &[u8]);

    /// Takes a record, and ends when it is durable.
    fn keep(&self, record: &[u8]) -> BoxFuture<'static, Result<(), AuditLogError>>;

    /// Whether it is larger than it may be, and nothing of it may be removed.
    fn is_full(&self) -> bool {
        false
    }
}

/// Why a record could not be kept, in words that any client may read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuditLogError(pub String);

/// Makes of arguments what may be kept of them.
pub type Redaction = Arc<dyn Fn(&RawJson) -> RawJson + Send + Sync>;

/// Records every call.
pub struct Audit {
    log: Arc<dyn AuditSink>,
    settings: ArcSwap<AuditSettings>,
    redaction: Redaction,
    listener: OnceLock<mpsc::Sender<ObservedAuditRecord>>,
    /// Records that the listener was too slow for.
    unheard: AtomicU64,
    suppressed: Suppressed,
}

/// A record as its listener hears it.
#[derive(Debug, Clone)]
pub struct ObservedAuditRecord {
    /// The record: a JSON object without number and authentication code.
    pub record: RawJson,
    /// The trace at the call as a whole, or else the one that the call came with.
    pub trace: Option<Trace>,
}

/// The witness of a record.
struct Recorder(Arc<Audit>);

impl Audit {
    /// Records calls in this log.
    pub fn new(
        log: Arc<dyn AuditSink>,
        settings: AuditSettings,
        redaction: Redaction,
    ) -> Arc<Self> {
        Arc::new(Self {
            log,
            settings: ArcSwap::from_pointee(settings),
            redaction,
            listener: OnceLock::new(),
            unheard: AtomicU64::new(0),
            suppressed: Suppressed::default(),
        })
    }

    /// Changes what is recorded, from the next call on.
    pub fn configure(&self, settings: AuditSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// What stands in the pipeline.
    pub fn observer(self: &Arc<Self>) -> impl CallObserver + use<> {
        Recorder(self.clone())
    }

    /// Hears every record from now on. One that finds so many unread is left out and counted. There
    /// is one listener; a second gets none.
    pub fn listen(&self, unread: usize) -> Option<mpsc::Receiver<ObservedAuditRecord>> {
        let (listener, records) = mpsc::channel(unread.max(1));
        self.listener.set(listener).ok().map(|()| records)
    }

    /// How many records the listener was too slow for.
    pub fn unheard(&self) -> u64 {
        self.unheard.load(Ordering::Relaxed)
    }

    /// Writes how many calls had no line of their own, of principals for whom that is due; of all
    /// of them at the end of the program.
    pub fn write_suppressed(&self, all: bool) {
        self.note_all(self.suppressed.due(all, &self.settings.load()));
    }

    /// Writes lines that are about no single call.
    fn note_all(&self, lines: Vec<String>) {
        for line in lines {
            self.tell(&line, None);
            self.log.note(line.as_bytes());
        }
    }

    /// Records that somebody has answered an approval.
    pub fn note_approval(&self, past: &Past) {
        let settings = self.settings.load();
        if settings.mode != AuditMode::Off {
            self.log.note(audit_record::write_approval(past, &settings).as_bytes());
        }
    }

    fn tell(&self, record: &str, call: Option<&CallSummary<'_>>) {
        let Some(listener) = self.listener.get() else { return };
        let told = RawJson::parse(format!("{{{record}}}"), JsonLimits::default());
        let own = call.and_then(|call| call.context.span().map(Span::whole));
        let trace = own.or_else(|| call?.call.trace.as_deref().cloned());
        let is_heard = told
            .is_ok_and(|record| listener.try_send(ObservedAuditRecord { record, trace }).is_ok());
        if !is_heard {
            self.unheard.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl CallObserver for Recorder {
    fn begun(&self, call: &CallSummary<'_>) -> Recorded {
        let settings = self.0.settings.load();
        if settings.mode == AuditMode::Off {
            return None;
        }
        if settings.when_full == WhenFull::Refuse && self.0.log.is_full() {
            return Some(Box::pin(ready(Err(full(call)))));
        }
        if settings.mode != AuditMode::Strict {
            return None;
        }
        let record = audit_record::write(call, Phase::Begun, &settings, &self.0.redaction);
        let kept = self.0.log.keep(record.as_bytes());
        let context = call.context.clone();
        Some(Box::pin(async move {
            kept.await.map_err(|error| {
                let rule = "strict".into();
                context.note_decision(PolicyDecision { allowed: false, policy: POLICY, rule });
                let text = format!(
                    "the call was refused: it cannot be recorded, and the audit is strict ({error})"
                );
                CallError::new(ErrorKind::Internal, text)
            })
        }))
    }

    fn ended(&self, call: &CallSummary<'_>, end: &CallEnd<'_>) -> Recorded {
        let settings = self.0.settings.load();
        if settings.mode == AuditMode::Off || (call.call.method.is_list() && !settings.lists) {
            return None;
        }
        // It was refused, and had none of the lines that the principal may fill.
        let is_suppressed = |all: &[PolicyDecision]| all.last().is_some_and(is_refused_too_often);
        if call.context.among_decisions(is_suppressed) {
            self.0.note_all(self.0.suppressed.count(&call.call.caller.principal, &settings));
            return None;
        }
        let record = audit_record::write(call, Phase::Ended(end), &settings, &self.0.redaction);
        self.0.tell(&record, Some(call));
        // A call that was refused because it cannot be recorded has been told why.
        let is_told =
            || call.context.among_decisions(|all| all.iter().any(|it| it.policy == POLICY));
        if settings.mode == AuditMode::Batched || is_told() {
            self.0.log.note(record.as_bytes());
            return None;
        }
        let kept = self.0.log.keep(record.as_bytes());
        let what = match end.outcome {
            Err(error) if error.blame() == Blame::Caller => "the call failed",
            _ => "the call was made",
        };
        Some(Box::pin(async move {
            kept.await.map_err(|error| {
                let text = format!(
                    "{what}, but its end cannot be recorded, and the audit is strict ({error}); \
                     look at what it did before you make it again"
                );
                CallError::new(ErrorKind::Internal, text)
            })
        }))
    }
}

fn is_refused_too_often(decision: &PolicyDecision) -> bool {
    !decision.allowed && decision.policy == REFUSED_CALLS
}

/// The refusal of a call for which the log has no room.
fn full(call: &CallSummary<'_>) -> CallError {
    let rule = "full".into();
    call.context.note_decision(PolicyDecision { allowed: false, policy: POLICY, rule });
    let text = "the call was refused: the audit log is larger than it may be; ask the \
                administrator of this gateway to make room for it";
    CallError::new(ErrorKind::LimitExceeded { retry_after: None }, text)
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Audit").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Who is accountable for what an administrator does.
pub const ADMINISTRATOR: &str = "administrator";

impl Audit {
    /// Records that someone did something with a call over administration. In strict mode this ends when the
    /// record is durable, and fails if it cannot be.
    pub async fn administration(
        &self,
        principal: &str,
        method: &str,
        call: &str,
        tool: &str,
    ) -> Result<(), AuditLogError> {
        let mode = self.settings.load().mode;
        if mode == AuditMode::Off {
            return Ok(());
        }
        let record = ObjectWriter::new()
            .value("at", &timestamp::write(SystemTime::now()))
            .value("call", call)
            .value("phase", "ended")
            .value("principal", principal)
            .value("method", method)
            .value("tool", tool)
            .value("outcome", "ok")
            .finish();
        let members = record.as_str().trim_start_matches('{').strip_suffix('}').unwrap_or_default();
        if mode == AuditMode::Strict {
            return self.log.keep(members.as_bytes()).await;
        }
        self.log.note(members.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
