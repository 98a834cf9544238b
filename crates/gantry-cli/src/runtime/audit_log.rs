//! The record of calls, in the state directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry::policy_set::PolicyStorage;
use gantry_policy::{
    AnchorFlusher, Audit, AuditAnchor, AuditAnchors, AuditLogError, AuditPosition, AuditSink,
    Signer,
};
use gantry_protocol::timestamp;
use gantry_store::audit_log::{Anchor, AuditError, AuditLog, AuditSettings};

use crate::config::{AuditConfig, Config};
use crate::exit::{Code, Exit};
use crate::{logging, state_dir};

/// The record, and the thread that writes it.
#[derive(Debug, Clone)]
pub(crate) struct StoredAudit {
    audit_log: Arc<AuditLog>,
    pub(crate) audit: Arc<Audit>,
    anchors: AuditAnchors,
    /// How often it is kept in the store how far the log is.
    pause: Duration,
}

/// The journal as the policy knows it.
struct Log(Arc<AuditLog>);

impl StoredAudit {
    /// Opens the record. Nothing is made before the first call.
    pub(crate) async fn open(
        config: Option<&Config>,
        storage: &PolicyStorage,
    ) -> Result<Self, Exit> {
        let anchors = anchors(storage);
        let known = known(&anchors).await?;
        let said = said(config);
        let program = format!("gantry {}", env!("CARGO_PKG_VERSION"));
        let mut settings = AuditSettings::default();
        apply(&said, &mut settings);
        let audit_log =
            AuditLog::open(folder()?, &key()?, timestamp::write, program, settings, &known);
        let failed = |error| Exit::new(Code::Failed, format!("no thread can be started: {error}"));
        let audit_log = Arc::new(audit_log.map_err(failed)?);
        let redaction = Arc::new(logging::shown);
        let audit = Audit::new(Arc::new(Log(audit_log.clone())), said.settings(), redaction);
        Ok(Self { audit_log, audit, anchors, pause: said.settings().anchor })
    }

    /// Keeps in the store how far the log is, and writes what is due in it, until it is stopped.
    pub(crate) fn keep_anchored(&self) -> AnchorFlusher {
        let (audit_log, audit) = (self.audit_log.clone(), self.audit.clone());
        self.anchors.keep(self.pause, move || {
            audit.write_suppressed(false);
            position(&audit_log)
        })
    }

    /// Puts another configuration in force.
    pub(crate) fn configure(&self, config: &Config) {
        let said = said(Some(config));
        self.audit.configure(said.settings());
        self.audit_log.configure(|settings| apply(&said, settings));
    }

    /// Writes what is left, and ends.
    pub(crate) async fn close(&self) {
        self.audit.write_suppressed(true);
        let audit_log = self.audit_log.clone();
        // It waits for the disk.
        let _ = tokio::task::spawn_blocking(move || audit_log.close()).await;
        if let Some(position) = position(&self.audit_log)
            && let Err(error) = self.anchors.advance(position).await
        {
            tracing::warn!(%error, "the anchor of the audit log could not be stored");
        }
    }

    /// How the record stands, as Prometheus reads it.
    pub(crate) fn measure(&self, out: &mut String) {
        let kept = self.audit_log.kept();
        let rows = [
            (
                "gantry_audit_records_total",
                "counter",
                "Lines written to the audit log.",
                kept.written,
            ),
            (
                "gantry_audit_dropped_total",
                "counter",
                "Audit records lost because they could not be written in time.",
                kept.dropped,
            ),
            (
                "gantry_audit_ok",
                "gauge",
                "Whether the audit log can be written: 1 or 0.",
                u64::from(!kept.is_failing),
            ),
            (
                "gantry_audit_over_size",
                "gauge",
                "Whether the audit log exceeds `audit.size` and is too young to be removed: 1 or 0.",
                u64::from(kept.is_over),
            ),
            (
                "gantry_audit_cut",
                "gauge",
                "Whether the audit log was emptied, truncated or replaced: 1 or 0.",
                u64::from(kept.is_cut),
            ),
        ];
        for (name, kind, help, value) in rows {
            out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"));
        }
    }
}

impl AuditSink for Log {
    fn note(&self, record: &[u8]) {
        self.0.note(record);
    }

    fn keep(&self, record: &[u8]) -> BoxFuture<'static, Result<(), AuditLogError>> {
        let kept = self.0.keep(record);
        Box::pin(async move { kept.await.map_err(|error| AuditLogError(public(&error))) })
    }

    fn is_full(&self) -> bool {
        self.0.is_over()
    }
}

/// Where it is kept how far the log is.
pub(crate) fn anchors(storage: &PolicyStorage) -> AuditAnchors {
    AuditAnchors::new(storage.document_store.clone(), storage.signer.clone())
}

/// How far the log was, as the store knows it.
pub(crate) async fn known(anchors: &AuditAnchors) -> Result<Vec<Anchor>, Exit> {
    let unread = |error| {
        let text = format!("the anchor of the audit log could not be read: {error}");
        Exit::new(Code::Configuration, text).hint("repair the store")
    };
    let all = anchors.all().await.map_err(unread)?.into_iter();
    let anchor =
        |AuditAnchor { file, generation, lines, mac }| Anchor { file, generation, lines, mac };
    Ok(all.map(anchor).collect())
}

/// How far the log is.
fn position(audit_log: &AuditLog) -> Option<AuditPosition> {
    let position = audit_log.position()?;
    let anchor =
        |Anchor { file, generation, lines, mac }| AuditAnchor { file, generation, lines, mac };
    let anchors = position.anchors.clone().into_iter().map(anchor).collect();
    let has_ended = Box::new(move |file: &str| position.has_ended(file));
    Some(AuditPosition { anchors, has_ended })
}

/// What a client may know: not where the record is.
fn public(error: &AuditError) -> String {
    match error {
        AuditError::Write { source, .. } | AuditError::Read { source, .. } => source.to_string(),
        AuditError::Locked(_) => "it is locked by another program".to_owned(),
        AuditError::Crowded(_) | AuditError::Closed => error.to_string(),
    }
}

/// The folder of the record.
pub(crate) fn folder() -> Result<PathBuf, Exit> {
    state_dir::audit()
}

/// The key of the record: made of the key of this state directory, and good for nothing else.
pub(crate) fn key() -> Result<[u8; 32], Exit> {
    Ok(Signer::new(state_dir::key()?).sign("audit", &[]))
}

fn said(config: Option<&Config>) -> AuditConfig {
    config.and_then(|config| config.audit.clone()).unwrap_or_default()
}

fn apply(said: &AuditConfig, settings: &mut AuditSettings) {
    let usual = AuditSettings::default();
    settings.retain = said.retain.unwrap_or(usual.retain);
    settings.size = said.size.unwrap_or(usual.size);
    settings.min_age = said.min_age.unwrap_or(usual.min_age);
    // Only whole volumes can be removed, so that there must be several.
    settings.segment = usual.segment.min((settings.size / 8).max(1));
    settings.age = usual.age.min(settings.retain / 8);
}
