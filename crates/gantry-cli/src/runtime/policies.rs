//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::policy_set::{Parts, PolicySet, PolicyStorage};
use gantry_gateway::Target;
use gantry_policy::approvals::ApprovalSettings;
use gantry_policy::trust::{Level, TrustSettings};
use gantry_policy::{
    Approvals, Clock, DocumentStoreError, LimitSettings, Pins, Rules, Signer, Trust,
};

use crate::config::Config;
use crate::exit::{Code, Exit};
use crate::lock_file::LockFile;
use crate::runtime::audit_log::StoredAudit;
use crate::runtime::storage::DatabaseDocuments;
use crate::{state_dir, tool_sources};

/// How far the gateway is trusted when neither the configuration nor anybody says so.
const TRUST: &str = "GANTRY_TRUST";

/// The policies, and what must be ended with them.
#[derive(Debug, Clone)]
pub(crate) struct PolicyRuntime {
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) audit: StoredAudit,
}

/// Puts the policies together, with everything they have kept.
pub(crate) async fn open(config: Option<&Config>) -> Result<PolicyRuntime, Exit> {
    let storage = storage(config).await?;
    let audit = StoredAudit::open(config, &storage).await?;
    let pins = Pins::new(config.and_then(|config| config.pins.clone()).unwrap_or_default());
    LockFile::of(config)?.load(&pins)?;
    let parts = Parts {
        limits: config.map(limits).unwrap_or_default(),
        trust: trust(config, &storage, &pins).await?,
        audit: audit.audit.clone(),
        rules: rules(config),
        pins,
    };
    Ok(PolicyRuntime { policies: PolicySet::new(storage, parts), audit })
}

impl PolicyRuntime {
    /// Puts another configuration in force. Returns whether callers may see something else now.
    pub(crate) fn configure(&self, before: &Config, config: &Config) -> bool {
        self.policies.rules().put(config.policy.rule_set());
        self.audit.configure(config);
        if before.limits != config.limits {
            self.policies.set_limits(limits(config));
        }
        self.policies.pins().set(config.pins.clone().unwrap_or_default());
        let trust = self.policies.trust();
        // The variable was in order at the start, and does not change.
        if let Ok(settings) = trust_settings(Some(config)) {
            trust.configure(settings);
        }
        trust.approvals().configure(approval_settings(config));
        before.policy.differs(&config.policy) || before.pins != config.pins
    }

    /// Ends what must be ended: whatever was recorded is written.
    pub(crate) async fn close(&self) {
        self.audit.close().await;
    }
}

/// The rules of a configuration.
pub(crate) fn rules(config: Option<&Config>) -> Rules {
    let config = config.cloned().unwrap_or_default();
    Rules::new(config.policy.rule_set())
}

/// The limits that a configuration asks for.
fn limits(config: &Config) -> LimitSettings {
    config.limits.as_ref().map(|limits| limits.settings.clone()).unwrap_or_default()
}

/// How approvals work, with the approvers that rules name.
fn approval_settings(config: &Config) -> ApprovalSettings {
    let rule_approvers = config.policy.approvers();
    ApprovalSettings { rule_approvers, ..config.trust.approvals.clone() }
}

/// Where everything is kept, and the time since it was last looked at.
pub(crate) async fn storage(config: Option<&Config>) -> Result<PolicyStorage, Exit> {
    let document_store = Arc::new(DatabaseDocuments(state_dir::store(config)?));
    let signer = Signer::new(state_dir::key()?);
    let clock = Clock::system().recall(document_store.clone(), signer.clone()).await;
    let clock = clock.map_err(|error| unread(&error))?;
    Ok(PolicyStorage { document_store, signer, clock })
}

fn unread(error: &DocumentStoreError) -> Exit {
    let text = format!("trust decisions could not be read: {error}");
    Exit::new(Code::Configuration, text).hint("nothing runs without them; repair the store")
}

async fn trust(
    config: Option<&Config>,
    storage: &PolicyStorage,
    pins: &Pins,
) -> Result<Trust, Exit> {
    let settings = trust_settings(config)?;
    let waiting = config.map(approval_settings).unwrap_or_default();
    let PolicyStorage { document_store, signer, clock } = storage.clone();
    let approvals = Approvals::open(waiting, document_store, signer, clock).await;
    let approvals = approvals.map_err(|error| unread(&error))?;
    let pins = pins.clone();
    let in_order = Arc::new(move |target: &Target| pins.is_in_order(target));
    let opened = Trust::open(settings, approvals, in_order).await;
    opened.map_err(|error| unread(&error))
}

fn trust_settings(config: Option<&Config>) -> Result<TrustSettings, Exit> {
    let said = tool_sources::variable(TRUST).filter(|word| !word.is_empty());
    let level = said.map(|word| {
        Level::parse(&word).ok_or_else(|| {
            Exit::new(
                Code::Configuration,
                format!("{TRUST} is `{word}`, which is not a trust level"),
            )
            .hint("set it to untrusted, verified or trusted")
        })
    });
    Ok(config.map(|config| config.trust.clone()).unwrap_or_default().settings(level.transpose()?))
}
