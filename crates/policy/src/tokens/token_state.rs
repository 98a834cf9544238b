//! A token in memory, and its signed document: who can write to the store but does not have the key can
//! neither create a token nor restore a revoked one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use gantry_gateway::{Scope, TokenLease};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};

use super::token::{Role, TokenRecord, hash_bytes, hexadecimal};
use super::{Principal, TokenTable, scope};
use crate::signed_store::Signer;

/// The kind of documents that hold tokens.
pub(super) const TOKENS: &str = "tokens";
/// The kind that holds when each was last used. It is written often and by every program, and
/// kept apart so that it can undo nothing.
pub(super) const USES: &str = "token-uses";

const PURPOSE: &str = "token";

/// A record as it is kept.
pub(super) fn seal(signer: &Signer, record: &TokenRecord) -> String {
    let text = RawJson::of(record).unwrap_or(RawJson::NULL);
    let signature = signer.sign(PURPOSE, &[record.id.as_bytes(), text.bytes()]);
    let sealed =
        ObjectWriter::new().raw("record", &text).value("signature", &hexadecimal(&signature));
    sealed.finish().as_str().to_owned()
}

/// The record that was kept under an id, with the hash of its secret. What was not written by us
/// is left out, and told.
pub(super) fn open(signer: &Signer, id: &str, content: &str) -> Option<(TokenRecord, [u8; 32])> {
    let opened = read(signer, id, content);
    if opened.is_none() {
        tracing::error!(id, "a token in the store was changed by someone else; it opens nothing");
    }
    opened
}

fn read(signer: &Signer, id: &str, content: &str) -> Option<(TokenRecord, [u8; 32])> {
    let document = RawJson::parse(content.to_owned(), JsonLimits::default()).ok()?;
    let text = document.get("record")?;
    let signature = hash_bytes(&document.get("signature")?.to_text()?)?;
    if !signer.is_signed(PURPOSE, &[id.as_bytes(), text.bytes()], &signature) {
        return None;
    }
    let record: TokenRecord = text.read()?;
    let hash = hash_bytes(&record.hash)?;
    (record.id == id).then_some((record, hash))
}

/// A token in memory.
#[derive(Debug)]
pub(super) struct TokenState {
    pub(super) record: TokenRecord,
    pub(super) hash: [u8; 32],
    name: Arc<str>,
    scope: Option<Arc<Scope>>,
    pub(super) lease: Arc<TokenLease>,
    /// When it was last shown, in seconds since 1970; 0 for never.
    used: AtomicU64,
    /// What of that is written down.
    written: AtomicU64,
}

impl TokenState {
    pub(super) fn new(record: TokenRecord, hash: [u8; 32]) -> Self {
        let at = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let lease = TokenLease::new(record.expires.and_then(at));
        if record.revoked.is_some() {
            lease.end();
        }
        Self {
            hash,
            name: record.name.as_str().into(),
            scope: scope(&record.allow),
            lease: Arc::new(lease),
            used: AtomicU64::new(0),
            written: AtomicU64::new(0),
            record,
        }
    }

    /// The same token, taken away: whoever is inside with it is out.
    pub(super) fn revoked(&self, now: u64) -> Self {
        self.lease.end();
        self.with_record(TokenRecord { revoked: Some(now), ..self.record.clone() })
    }

    /// The same token with another role.
    pub(super) fn with_role(&self, role: Role) -> Self {
        self.with_record(TokenRecord { role, ..self.record.clone() })
    }

    fn with_record(&self, record: TokenRecord) -> Self {
        let load = |number: &AtomicU64| AtomicU64::new(number.load(Ordering::Relaxed));
        Self {
            record,
            hash: self.hash,
            name: self.name.clone(),
            scope: self.scope.clone(),
            lease: self.lease.clone(),
            used: load(&self.used),
            written: load(&self.written),
        }
    }

    /// Whether its time is over. If so, whoever is inside with it is out.
    pub(super) fn end_if_over(&self, now: u64) -> bool {
        let is_over = self.record.expires.is_some_and(|expires| expires <= now);
        if is_over {
            self.lease.end();
        }
        is_over
    }

    pub(super) fn principal(&self) -> Principal {
        let (name, scope, lease) = (self.name.clone(), self.scope.clone(), self.lease.clone());
        Principal { name, scope, lease }
    }

    /// Notes that it was shown. Written only when it changes, since many calls share it.
    pub(super) fn touch(&self, now: u64) {
        if self.used.load(Ordering::Relaxed) < now {
            self.used.store(now, Ordering::Relaxed);
        }
    }

    /// Notes a use that is written down already.
    pub(super) fn was_used(&self, at: u64) {
        self.used.fetch_max(at, Ordering::Relaxed);
        self.was_written(at);
    }

    pub(super) fn was_written(&self, at: u64) {
        self.written.fetch_max(at, Ordering::Relaxed);
    }

    /// The last use, if it is not written down.
    pub(super) fn unwritten(&self) -> Option<u64> {
        let used = self.used.load(Ordering::Relaxed);
        (used > self.written.load(Ordering::Relaxed)).then_some(used)
    }

    /// All that may be told of it.
    pub(super) fn shown(&self) -> TokenRecord {
        let used = self.used.load(Ordering::Relaxed);
        TokenRecord { last_used: (used > 0).then_some(used), ..self.record.clone() }
    }
}

/// Takes in a record as it was found in the cabinet. One in memory is not changed but by being
/// taken away, which is final on whichever side it was seen.
pub(super) fn merge(table: &mut TokenTable, record: TokenRecord, hash: [u8; 32]) {
    match (table.get(&record.id), record.revoked) {
        (None, _) => drop(table.insert(record.id.clone(), Arc::new(TokenState::new(record, hash)))),
        (Some(held), Some(at)) if held.record.revoked.is_none() => {
            let revoked = Arc::new(held.revoked(at));
            table.insert(record.id, revoked);
        }
        _ => {}
    }
}
