//! Access tokens of callers (bearer tokens): created, verified, revoked. They are verified in memory; the
//! store has what must survive a restart.

mod token;
mod token_error;
mod token_state;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use gantry_gateway::{Scope, TokenLease};
use subtle::ConstantTimeEq;

use self::token::{Shown, hexadecimal};
use self::token_state::TokenState;
use crate::clock::Clock;
use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::signed_store::Signer;

pub use self::token::{Role, Token, TokenRecord};
pub use self::token_error::{TokenError, TokenRefusal};

/// How many tokens are kept, those that are over among them.
const LIMIT: usize = 1000;
/// How often it is written down when tokens were used, and looked what others have changed.
const MINUTE: Duration = Duration::from_secs(60);
/// What the secret of a token that is not there is compared with.
const NOBODY: [u8; 32] = [0; 32];

/// All tokens by id.
type TokenTable = HashMap<String, Arc<TokenState>>;

/// The tokens of all callers.
pub struct Tokens {
    table: ArcSwap<TokenTable>,
    /// Held by who changes the book, never while something is written down.
    changing: Mutex<()>,
    document_store: Arc<dyn DocumentStore>,
    signer: Signer,
    clock: Clock,
    limit: usize,
}

impl Tokens {
    /// Finds the tokens that were kept. Their time is measured by this clock.
    pub async fn open(
        document_store: Arc<dyn DocumentStore>,
        signer: Signer,
        clock: Clock,
    ) -> Result<Self, DocumentStoreError> {
        let (table, changing) = (ArcSwap::default(), Mutex::default());
        let tokens = Self { table, changing, document_store, signer, clock, limit: LIMIT };
        tokens.refresh().await?;
        Ok(tokens)
    }

    /// Sets how many tokens are kept.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// The clock by which their time is measured.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Who shows this token, which is noted as a use of it. Neither the answer nor the time it takes
    /// tells how much of a wrong token is right.
    pub fn check(&self, shown: Option<&str>) -> Result<Principal, TokenRefusal> {
        let now = self.clock.seconds();
        let held = self.find(shown.ok_or(TokenRefusal::Missing)?, now)?;
        held.touch(now);
        Ok(held.principal())
    }

    /// Whether a token opens. That is no use of it.
    pub fn is_good(&self, token: &Token) -> bool {
        self.find(token.expose(), self.clock.seconds()).is_ok()
    }

    fn find(&self, shown: &str, now: u64) -> Result<Arc<TokenState>, TokenRefusal> {
        let shown = Shown::read(shown).ok_or(TokenRefusal::Unknown)?;
        let table = self.table.load();
        let held = table.get(shown.id);
        let expected = held.map_or(&NOBODY, |held| &held.hash);
        let is_right = bool::from(shown.hash().ct_eq(expected));
        let held = held.filter(|_| is_right).ok_or(TokenRefusal::Unknown)?;
        if held.record.revoked.is_some() {
            return Err(TokenRefusal::Revoked);
        }
        if held.end_if_over(now) {
            return Err(TokenRefusal::Expired);
        }
        // It is just being taken away.
        if held.lease.is_ended() {
            return Err(TokenRefusal::Revoked);
        }
        Ok(held.clone())
    }

    /// Makes a token, which is given out here and never again. It is good for what the patterns fit;
    /// without any for everything. An empty list would allow nothing, and is refused.
    pub async fn create(
        &self,
        name: &str,
        allow: Option<Vec<String>>,
        expires: Option<SystemTime>,
    ) -> Result<(Token, TokenRecord), TokenError> {
        self.create_as(Role::Caller, name, allow, expires).await
    }

    /// Makes a token with a role.
    pub async fn create_as(
        &self,
        role: Role,
        name: &str,
        allow: Option<Vec<String>>,
        expires: Option<SystemTime>,
    ) -> Result<(Token, TokenRecord), TokenError> {
        let token = Token::random();
        let record = self.enroll(&token, role, name, allow, expires).await?;
        Ok((token, record))
    }

    /// Takes in a token that was made before.
    pub async fn enroll(
        &self,
        token: &Token,
        role: Role,
        name: &str,
        allow: Option<Vec<String>>,
        expires: Option<SystemTime>,
    ) -> Result<TokenRecord, TokenError> {
        token_error::check_name(name)?;
        if let Some(allow) = &allow {
            token_error::check_allow(allow)?;
        }
        let now = self.clock.seconds();
        let expires = expires.map(seconds);
        let shown = Shown::read(token.expose()).ok_or(TokenError::Form)?;
        let record = TokenRecord {
            id: shown.id.to_owned(),
            name: name.to_owned(),
            hash: hexadecimal(&shown.hash()),
            allow: allow.unwrap_or_default(),
            role,
            created: now,
            expires,
            revoked: None,
            last_used: None,
        };
        if record.is_dead(now) {
            return Err(TokenError::Past);
        }
        let held = Arc::new(TokenState::new(record.clone(), shown.hash()));
        let surplus: Result<_, TokenError> = self.change(|table| {
            let surplus = make_room(table, self.limit, &record, now)?;
            table.insert(record.id.clone(), held);
            Ok(surplus)
        });
        let surplus = surplus?;
        if let Err(error) = self.write(&record).await {
            // Nobody has seen it yet.
            self.change(|table| drop(table.remove(&record.id)));
            return Err(error.into());
        }
        for id in surplus {
            self.document_store.remove(token_state::TOKENS, &id).await?;
            self.document_store.remove(token_state::USES, &id).await?;
        }
        Ok(record)
    }

    /// The role of the token of that name that is in force.
    pub fn role_of(&self, name: &str) -> Role {
        let now = self.clock.seconds();
        let table = self.table.load();
        let mut living = table.values().filter(|held| !held.record.is_dead(now));
        let held = living.find(|held| held.record.name == name);
        held.map(|held| held.record.role).unwrap_or_default()
    }

    /// Gives a token that is in force another role, for records from before there were roles.
    pub async fn set_role(&self, token: &Token, role: Role) -> Result<(), TokenError> {
        let now = self.clock.seconds();
        let Ok(found) = self.find(token.expose(), now) else { return Ok(()) };
        // Looked at again under the lock: it may just be taken away.
        let changed = self.change(|table| {
            let held = table.get(&found.record.id)?;
            if held.record.is_dead(now) || held.record.role == role {
                return None;
            }
            let changed = Arc::new(held.with_role(role));
            table.insert(changed.record.id.clone(), changed.clone());
            Some(changed)
        });
        match changed {
            Some(changed) => Ok(self.write(&changed.record).await?),
            None => Ok(()),
        }
    }

    /// Takes a token away, by its name or id. It opens nothing from here on, also when that could
    /// not be written down.
    pub async fn revoke(&self, who: &str) -> Result<TokenRecord, TokenError> {
        let now = self.clock.seconds();
        let revoked = self.change(|table| {
            let living = || table.values().filter(|held| !held.record.is_dead(now));
            let named = living().find(|held| held.record.name.eq_ignore_ascii_case(who));
            let held = named.or_else(|| living().find(|held| held.record.id == who))?;
            let revoked = Arc::new(held.revoked(now));
            table.insert(revoked.record.id.clone(), revoked.clone());
            Some(revoked)
        });
        let revoked = revoked.ok_or_else(|| TokenError::Unknown(who.to_owned()))?;
        let written = self.write(&revoked.record).await;
        written.map_err(|error| TokenError::Unwritten(who.to_owned(), error))?;
        Ok(revoked.shown())
    }

    /// All tokens, the oldest first; those that are over too.
    pub fn list(&self) -> Vec<TokenRecord> {
        let mut all: Vec<_> = self.table.load().values().map(|held| held.shown()).collect();
        all.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
        all
    }

    /// Takes over what another program has written down. What was taken away stays so.
    pub async fn refresh(&self) -> Result<(), DocumentStoreError> {
        let documents = self.document_store.all(token_state::TOKENS).await?;
        let uses = self.document_store.all(token_state::USES).await?;
        let records: Vec<_> = documents
            .iter()
            .filter_map(|(id, content)| token_state::open(&self.signer, id, content))
            .collect();
        self.change(|table| {
            for (record, hash) in records {
                token_state::merge(table, record, hash);
            }
            for (id, content) in uses {
                if let (Some(held), Ok(at)) = (table.get(&id), content.parse()) {
                    held.was_used(at);
                }
            }
        });
        Ok(())
    }

    /// Writes down when tokens were last used, if they were since it was written last.
    pub async fn write_uses(&self) -> Result<(), DocumentStoreError> {
        let table = self.table.load_full();
        for held in table.values() {
            if let Some(at) = held.unwritten() {
                self.document_store.put(token_state::USES, &held.record.id, at.to_string()).await?;
                held.was_written(at);
            }
        }
        Ok(())
    }

    /// Whoever is inside with a token whose time is over is out, also where the clock on the wall
    /// was set back.
    fn end_what_is_over(&self) {
        let now = self.clock.seconds();
        for held in self.table.load().values() {
            held.end_if_over(now);
        }
    }

    /// Keeps memory and cabinet together for as long as it is awaited, looking once a minute.
    pub async fn keep(&self) {
        loop {
            tokio::time::sleep(MINUTE).await;
            self.end_what_is_over();
            let kept = async {
                self.write_uses().await?;
                self.refresh().await
            };
            if let Err(error) = kept.await {
                tracing::warn!(%error, "the store of tokens cannot be reached");
            }
        }
    }

    async fn write(&self, record: &TokenRecord) -> Result<(), DocumentStoreError> {
        let content = token_state::seal(&self.signer, record);
        self.document_store.put(token_state::TOKENS, &record.id, content).await
    }

    /// Changes the book in one step.
    fn change<T>(&self, change: impl FnOnce(&mut TokenTable) -> T) -> T {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = TokenTable::clone(&self.table.load());
        let changed = change(&mut table);
        self.table.store(Arc::new(table));
        changed
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("count", &self.table.load().len()).finish()
    }
}

/// What a record's patterns allow; none for everything.
fn scope(allow: &[String]) -> Option<Arc<Scope>> {
    (!allow.is_empty()).then(|| Arc::new(Scope { allow: allow.to_vec() }))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Who showed a token.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The name of the token.
    pub name: Arc<str>,
    /// What it is good for; none for everything.
    pub scope: Option<Arc<Scope>>,
    /// How long it is good.
    pub lease: Arc<TokenLease>,
}

/// Makes sure that a record fits in. Gives the ids of those that go for it: the oldest that are
/// over.
fn make_room(
    table: &mut TokenTable,
    limit: usize,
    record: &TokenRecord,
    now: u64,
) -> Result<Vec<String>, TokenError> {
    let same = |held: &TokenState| held.record.name.eq_ignore_ascii_case(&record.name);
    let mut living = table.values().filter(|held| !held.record.is_dead(now));
    if living.any(|held| same(held)) || table.contains_key(&record.id) {
        return Err(TokenError::Taken(record.name.clone()));
    }
    let mut dead: Vec<_> =
        table.values().map(|it| &it.record).filter(|it| it.is_dead(now)).collect();
    dead.sort_by_key(|record| record.created);
    let surplus = (table.len() + 1).saturating_sub(limit);
    if dead.len() < surplus {
        return Err(TokenError::TooMany(limit));
    }
    let surplus: Vec<String> = dead.iter().take(surplus).map(|it| it.id.clone()).collect();
    surplus.iter().for_each(|id| drop(table.remove(id)));
    Ok(surplus)
}

#[cfg(test)]
mod tests;
