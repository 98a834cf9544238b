//! The record of calls, in the state directory.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use gantry::config::{AuditConfig, Config};
use gantry_policy::{Audit, AuditLog, AuditLogError, Signer};
use gantry_protocol::timestamp;
use gantry_store::audit::{AuditError, AuditSettings, Journal};

use super::exit::{Code, Exit};
use super::{logging, state};

/// The record, and the thread that writes it.
#[derive(Debug, Clone)]
pub(crate) struct KeptAudit {
    journal: Arc<Journal>,
    pub(crate) audit: Arc<Audit>,
}

/// The journal as the policy knows it.
struct Log(Arc<Journal>);

impl KeptAudit {
    /// Opens the record. Nothing is made before the first call.
    pub(crate) fn open(config: Option<&Config>) -> Result<Self, Exit> {
        let said = said(config);
        let program = format!("gantry {}", env!("CARGO_PKG_VERSION"));
        let mut settings = AuditSettings::default();
        apply(&said, &mut settings);
        let journal = Journal::open(folder()?, &key()?, timestamp::write, program, settings);
        let failed = |error| Exit::new(Code::Failed, format!("no thread can be started: {error}"));
        let journal = Arc::new(journal.map_err(failed)?);
        let redaction = Arc::new(logging::shown);
        let audit = Audit::new(Arc::new(Log(journal.clone())), said.settings(), redaction);
        Ok(Self { journal, audit })
    }

    /// Puts another configuration in force.
    pub(crate) fn configure(&self, config: &Config) {
        let said = said(Some(config));
        self.audit.configure(said.settings());
        self.journal.configure(|settings| apply(&said, settings));
    }

    /// Writes what is left, and ends.
    pub(crate) async fn close(&self) {
        let journal = self.journal.clone();
        // It waits for the disk.
        let _ = tokio::task::spawn_blocking(move || journal.close()).await;
    }

    /// How the record stands, as Prometheus reads it.
    pub(crate) fn measure(&self, out: &mut String) {
        let kept = self.journal.kept();
        let rows = [
            ("gantry_audit_records_total", "counter", "Lines in the audit record.", kept.written),
            (
                "gantry_audit_dropped_total",
                "counter",
                "Lines that were lost because they could not be written in time.",
                kept.dropped,
            ),
            (
                "gantry_audit_ok",
                "gauge",
                "Whether the audit record can be written: 1, or 0.",
                u64::from(!kept.is_failing),
            ),
        ];
        for (name, kind, help, value) in rows {
            out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"));
        }
    }
}

impl AuditLog for Log {
    fn note(&self, record: &[u8]) {
        self.0.note(record);
    }

    fn keep(&self, record: &[u8]) -> BoxFuture<'static, Result<(), AuditLogError>> {
        let kept = self.0.keep(record);
        Box::pin(async move { kept.await.map_err(|error| AuditLogError(public(&error))) })
    }
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
    state::audit()
}

/// The key of the record: made of the key of this state directory, and good for nothing else.
pub(crate) fn key() -> Result<[u8; 32], Exit> {
    Ok(Signer::new(state::key()?).sign("audit", &[]))
}

fn said(config: Option<&Config>) -> AuditConfig {
    config.and_then(|config| config.audit.clone()).unwrap_or_default()
}

fn apply(said: &AuditConfig, settings: &mut AuditSettings) {
    let usual = AuditSettings::default();
    settings.retain = said.retain.unwrap_or(usual.retain);
    settings.size = said.size.unwrap_or(usual.size);
    // Only whole volumes can be removed, so that there must be several.
    settings.volume = usual.volume.min((settings.size / 8).max(1));
    settings.age = usual.age.min(settings.retain / 8);
}
