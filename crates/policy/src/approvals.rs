//! Approvals: calls that wait for a human decision (human in the loop). The user of the client, an approver,
//! an administrator or a webhook may answer.
//!
//! A call that needs an approval opens one, or joins the open one of the same call, and waits for a while.
//! Then it is answered; the approval stays open, and its answer is valid for exactly one repeated call. An
//! answer never runs anything by itself. Of two answers the first counts, in one atomic step.

mod answer;
mod approval_request;
mod approver;
mod elicitation;
mod grant;
mod messages;
mod notify;
mod pending;
mod queue;
mod wait;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use gantry_protocol::RawJson;
use rand::Rng;
use tokio::sync::mpsc;

use self::approver::Authorization;
use self::grant::InForce;
use self::queue::{ApprovalQueue, Concluded};
use crate::canonical_json::hexadecimal;
use crate::clock::Clock;
use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::signed_store::{SignedStore, Signer};

pub use self::answer::{Answer, AnswerError, Matching, Scope, time};
pub use self::approver::{Authority, RoleOf};
pub use self::elicitation::{QUESTION, reply};
pub use self::grant::Grant;
pub use self::notify::ApprovalNotifier;
pub use self::pending::{Past, Pending, Verdict};
pub(crate) use self::wait::Need;

/// Hears of every approval that somebody has answered.
pub type AnswerListener = Arc<dyn Fn(&Past) + Send + Sync>;

/// The kinds of documents that are kept.
const GRANTS: &str = "grants";
const PAST: &str = "approvals";

/// Letters that may be under way at once.
const LETTERS: usize = 32;

/// Approvals. Clones are the same.
#[derive(Clone)]
pub struct Approvals(Arc<Inner>);

struct Inner {
    settings: ArcSwap<ApprovalSettings>,
    queue: Mutex<ApprovalQueue>,
    signed_store: SignedStore,
    clock: Clock,
    letters: mpsc::Sender<RawJson>,
    /// Taken by who delivers.
    outgoing: Mutex<Option<mpsc::Receiver<RawJson>>>,
    /// The roles of callers' tokens, where there are tokens.
    role_of: OnceLock<RoleOf>,
    /// Hears of every answer.
    listener: OnceLock<AnswerListener>,
    /// Where people answer in a browser, if the gateway listens.
    page: OnceLock<String>,
    /// Whether nobody but the client can answer.
    client_only: AtomicBool,
}

impl Approvals {
    /// Approvals, with everything that was kept.
    pub async fn open(
        settings: ApprovalSettings,
        document_store: Arc<dyn DocumentStore>,
        signer: Signer,
        clock: Clock,
    ) -> Result<Self, DocumentStoreError> {
        let signed_store = SignedStore::new(document_store, signer);
        let mut past: Vec<Past> = signed_store.all(PAST).await?;
        past.sort_by_key(|it| it.at);
        for old in past.drain(..past.len().saturating_sub(settings.past)) {
            signed_store.remove(PAST, &old.pending.id).await?;
        }
        let mut grants = Vec::new();
        for grant in signed_store.all::<Grant>(GRANTS).await? {
            let id = grant.id.clone();
            match InForce::new(grant, &clock) {
                Some(in_force) => grants.push(in_force),
                // It must not come back when a clock is set back.
                None => drop(signed_store.remove(GRANTS, &id).await?),
            }
        }
        let (letters, outgoing) = mpsc::channel(LETTERS);
        Ok(Self(Arc::new(Inner {
            settings: ArcSwap::from_pointee(settings),
            queue: Mutex::new(ApprovalQueue::restore(past, grants)),
            signed_store,
            clock,
            letters,
            outgoing: Mutex::new(Some(outgoing)),
            role_of: OnceLock::new(),
            listener: OnceLock::new(),
            page: OnceLock::new(),
            client_only: AtomicBool::new(false),
        })))
    }

    /// Puts other settings in force, for calls that wait from now on.
    pub fn configure(&self, settings: ApprovalSettings) {
        self.0.settings.store(Arc::new(settings));
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<ApprovalSettings> {
        self.0.settings.load_full()
    }

    /// Sets where the roles of callers' tokens are found. The first word counts.
    pub fn set_roles(&self, role_of: RoleOf) {
        let _ = self.0.role_of.set(role_of);
    }

    /// Sets who hears of every answer, such as the audit log. The first word counts.
    pub fn set_listener(&self, listener: AnswerListener) {
        let _ = self.0.listener.set(listener);
    }

    /// Sets the address of the page where people answer. The first word counts.
    pub fn set_page(&self, url: String) {
        let _ = self.0.page.set(url);
    }

    /// Says that nobody but the client itself can answer: the gateway ends with the call.
    pub fn set_client_only(&self) {
        self.0.client_only.store(true, Ordering::Release);
    }

    /// Whether a principal may approve some calls, with its own token.
    pub fn is_approver(&self, principal: &str) -> bool {
        self.authorization(&self.0.settings.load()).may_approve_any(principal)
    }

    /// Whether an approver may answer this approval.
    pub fn may_answer(&self, approver: &Authority, call: &Pending) -> bool {
        self.authorization(&self.0.settings.load()).objection(approver, call).is_none()
    }

    /// The open approvals, the oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        self.sweep();
        self.queue().pending()
    }

    /// A call that waits, and its arguments with nothing left out.
    pub fn reveal(&self, id: &str) -> Option<(Pending, RawJson)> {
        self.queue().reveal(id)
    }

    /// Calls that wait no longer, the latest first.
    pub fn past(&self) -> Vec<Past> {
        self.sweep();
        self.queue().past()
    }

    /// What was granted beyond single calls.
    pub fn grants(&self) -> Vec<Grant> {
        self.queue().grants()
    }

    /// Writes how many calls wait, and how many did, as Prometheus reads it.
    pub fn write_metrics(&self, out: &mut String) {
        self.sweep();
        self.queue().write_metrics(out);
    }

    /// Answers a call. Of two answers the first counts, and the other is told whose that was.
    pub async fn answer(&self, id: &str, answer: &Answer) -> Result<Option<Grant>, AnswerError> {
        self.sweep();
        let concluded = {
            let settings = self.0.settings.load();
            let authorization = self.authorization(&settings);
            self.queue().answer(id, answer, &authorization, &self.0.clock)?
        };
        let Concluded { past, grant, displaced } = concluded;
        tracing::info!(
            id,
            tool = past.pending.tool,
            principal = past.pending.principal,
            verdict = past.verdict.as_str(),
            by = past.by,
            via = past.via,
            "an approval was answered"
        );
        if let Some(listener) = self.0.listener.get() {
            listener(&past);
        }
        self.write_past().await;
        if let Some(grant) = grant.as_ref().filter(|it| it.is_kept()) {
            complain(self.0.signed_store.put(GRANTS, &grant.id, grant).await);
        }
        if let Some(displaced) = displaced {
            complain(self.0.signed_store.remove(GRANTS, &displaced.id).await.map(drop));
        }
        Ok(grant)
    }

    /// Whether a token was given out to answer this call, and this one only.
    pub fn is_token_for(&self, id: &str, token: &str) -> bool {
        self.queue().is_token(id, token)
    }

    /// Ends a grant. Gives whether there was one.
    pub async fn end_grant(&self, id: &str) -> Result<bool, DocumentStoreError> {
        let ended = self.queue().end_grant(id);
        self.0.signed_store.remove(GRANTS, id).await?;
        Ok(ended)
    }

    /// Brings letters for as long as this is polled. Only the first who does is given any.
    pub async fn deliver(&self, notifier: &dyn ApprovalNotifier) {
        let taken = self.0.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut outgoing) = taken else { return };
        let mut under_way = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(letter) = outgoing.recv(), if under_way.len() < LETTERS => {
                    under_way.push(self.correspond(notifier, letter));
                }
                Some(()) = under_way.next() => {}
                else => return,
            }
        }
    }

    /// Brings one letter, and takes the reply for an answer.
    async fn correspond(&self, notifier: &dyn ApprovalNotifier, letter: RawJson) {
        let id = letter.get("id").and_then(|it| it.to_text()).unwrap_or_default();
        let Some(reply) = notifier.bring(letter).await else { return };
        let answered = match Answer::read(&reply, "the webhook") {
            Ok(answer) => {
                let answer = answer.with(Authority::Webhook);
                self.answer(&id, &answer).await.map(drop)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = answered {
            tracing::warn!(id, %error, "the reply of the webhook does not count");
        }
    }

    /// Writes past approvals down, over the oldest ones.
    async fn write_past(&self) {
        let unwritten = self.queue().take_unwritten();
        for past in &unwritten {
            complain(self.0.signed_store.put(PAST, &past.pending.id, past).await);
        }
        let forgotten = self.queue().take_forgotten();
        for id in &forgotten {
            complain(self.0.signed_store.remove(PAST, id).await.map(drop));
        }
    }

    /// Ends the approvals that have been open for too long.
    fn sweep(&self) {
        self.queue().expire(&self.0.settings.load(), &self.0.clock);
    }

    fn authorization<'a>(&'a self, settings: &'a ApprovalSettings) -> Authorization<'a> {
        Authorization { settings, role_of: self.0.role_of.get() }
    }

    fn is_elicited(&self, call: &Pending) -> bool {
        self.authorization(&self.0.settings.load()).is_elicited(call)
    }

    fn is_client_only(&self) -> bool {
        self.0.client_only.load(Ordering::Acquire)
    }

    fn page(&self) -> Option<&str> {
        self.0.page.get().map(String::as_str)
    }

    pub(crate) fn signed_store(&self) -> &SignedStore {
        &self.0.signed_store
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    fn queue(&self) -> MutexGuard<'_, ApprovalQueue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was decided counts, also where it cannot be written down.
fn complain(written: Result<(), DocumentStoreError>) {
    if let Err(error) = written {
        tracing::error!(%error, "an approval could not be kept; it counts until the next start");
    }
}

/// A name or token that nobody can guess.
fn random<const BYTES: usize>() -> String {
    let mut bytes = [0; BYTES];
    rand::rng().fill_bytes(&mut bytes);
    hexadecimal(&bytes)
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Approvals")
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

/// Every limit of approvals, with its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a call waits for somebody other than its own client. Then it is answered, and the
    /// approval stays open.
    pub wait: Duration,
    /// How long an approval stays open.
    pub expires: Duration,
    /// How long after an approval the same call may be repeated, if it had been answered before.
    pub repeat_within: Duration,
    /// Approvals that may be open at once.
    pub pending: usize,
    /// Approvals of one principal's calls that may be open at once.
    pub pending_of_principal: usize,
    /// Bytes of the arguments of open approvals. The calls of one principal may have a quarter.
    pub held: usize,
    /// Grants in force at once; the oldest gives way.
    pub grants: usize,
    /// Past approvals that are remembered.
    pub past: usize,
    /// Whether an elicitation of the local user's client is an approval.
    pub elicitation: bool,
    /// Other principals, as patterns, whose clients' elicitations are approvals too.
    pub elicitation_principals: Vec<String>,
    /// Principals, as patterns, who may approve calls of others, beside tokens with that role.
    pub approvers: Vec<String>,
    /// Who may approve what a rule stops, by the name of the rule; others only as administrators.
    pub rule_approvers: BTreeMap<String, Vec<String>>,
    /// Whether approvers may approve their own calls.
    pub self_approval: bool,
    /// Where to tell that a call waits.
    pub webhook: Option<String>,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(20),
            expires: Duration::from_secs(60 * 60),
            repeat_within: Duration::from_secs(15 * 60),
            pending: 100,
            pending_of_principal: 20,
            held: 64 * 1024 * 1024,
            grants: 1000,
            past: 200,
            elicitation: true,
            elicitation_principals: Vec::new(),
            approvers: Vec::new(),
            rule_approvers: BTreeMap::new(),
            self_approval: false,
            webhook: None,
        }
    }
}

#[cfg(test)]
mod tests;
