//! Quotas: how much of the shared resources each principal may hold. Each resource has a total and a
//! share of it per principal; a permit releases what it holds when it is dropped, so that no error
//! path can leak it.

mod exceeded;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::quota::exceeded::Bound;
pub(crate) use crate::quota::exceeded::QuotaExceeded;
use crate::settings::Settings;

/// A resource with a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// HTTP sessions in memory.
    Sessions,
    /// Open event streams, WebSockets and HTTP+SSE connections.
    Streams,
    /// Resource subscriptions.
    Watched,
    /// Calls that wait for their client's answers.
    Parked,
    /// Running tasks.
    Tasks,
    /// Bytes of sessions, subscriptions, parked calls and running tasks.
    Held,
    /// Bytes of events kept for clients that reconnect.
    Replay,
}

/// The number of variants of [`Resource`].
const RESOURCES: usize = 7;

type Counters = [AtomicUsize; RESOURCES];

/// The usage of every resource, in all and by principal.
#[derive(Debug)]
pub(crate) struct QuotaTable {
    totals: [usize; RESOURCES],
    /// Limits of one principal, beside its share.
    per_principal: [usize; RESOURCES],
    /// Percent of a total that one principal may hold.
    share: usize,
    /// Whether there may be several principals. A single one may hold everything.
    is_shared: AtomicBool,
    used: Counters,
    /// Accounts in use. An account removes itself when the last reference is dropped.
    accounts: Mutex<HashMap<Arc<str>, Weak<Account>>>,
}

/// The usage of one principal.
#[derive(Debug)]
pub(crate) struct Account {
    table: Arc<QuotaTable>,
    principal: Arc<str>,
    used: Counters,
}

/// An amount of a resource, released when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    account: Arc<Account>,
    resource: Resource,
    amount: usize,
}

impl QuotaTable {
    /// Nothing is used yet.
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        let Settings { sessions, streams, watched_total, parked, tasks, .. } = *settings;
        let totals =
            [sessions, streams, watched_total, parked, tasks, settings.held, settings.replay_total];
        let mut per_principal = [usize::MAX; RESOURCES];
        per_principal[Resource::Parked as usize] = settings.parked_of_principal;
        per_principal[Resource::Tasks as usize] = settings.tasks_of_principal;
        Arc::new(Self {
            totals,
            per_principal,
            share: usize::from(settings.principal_share).min(100),
            is_shared: AtomicBool::new(false),
            used: Counters::default(),
            accounts: Mutex::default(),
        })
    }

    /// Limits each principal to its share from now on, since there may be others.
    pub(crate) fn share_among_principals(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// The account of a principal.
    pub(crate) fn account(self: &Arc<Self>, principal: &Arc<str>) -> Arc<Account> {
        let mut accounts = self.accounts();
        if let Some(account) = accounts.get(principal).and_then(Weak::upgrade) {
            return account;
        }
        let (table, used) = (self.clone(), Counters::default());
        let account = Arc::new(Account { table, principal: principal.clone(), used });
        accounts.insert(principal.clone(), Arc::downgrade(&account));
        account
    }

    /// How much of a resource is in use.
    pub(crate) fn used(&self, resource: Resource) -> usize {
        self.used[resource as usize].load(Ordering::Relaxed)
    }

    /// The share of a total that one principal may hold.
    pub(crate) fn share_of(&self, total: usize) -> usize {
        match self.is_shared.load(Ordering::Relaxed) {
            // Every authenticated client may hold one.
            true => (total / 100 * self.share + total % 100 * self.share / 100).max(1),
            false => total,
        }
    }

    fn limit_of_principal(&self, resource: Resource) -> usize {
        let index = resource as usize;
        self.share_of(self.totals[index]).min(self.per_principal[index])
    }

    /// The limit that a principal reaches first.
    fn bound(&self, resource: Resource) -> Bound {
        let (index, percent) = (resource as usize, self.share);
        let (total, cap) = (self.totals[index], self.per_principal[index]);
        match self.share_of(total) {
            share if cap < share => Bound::PerPrincipal,
            share if share < total => Bound::Share { total, percent },
            _ => Bound::Total,
        }
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Account>>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// Acquires an amount of a resource, within the total and this principal's share.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        resource: Resource,
        amount: usize,
    ) -> Result<Permit, QuotaExceeded> {
        let mut permit = Permit { account: self.clone(), resource, amount: 0 };
        permit.grow(amount)?;
        Ok(permit)
    }

    /// Whether `more` would exceed a limit.
    pub(crate) fn exceeds(&self, resource: Resource, more: usize) -> bool {
        let (index, table) = (resource as usize, &self.table);
        let sum = |used: &Counters| used[index].load(Ordering::Relaxed).saturating_add(more);
        sum(&self.used) > table.limit_of_principal(resource)
            || sum(&table.used) > table.totals[index]
    }

    /// Counts an amount that is held in any case, even beyond a limit.
    pub(crate) fn charge(&self, resource: Resource, amount: usize) {
        self.used[resource as usize].fetch_add(amount, Ordering::Relaxed);
        self.table.used[resource as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// Releases what was charged.
    pub(crate) fn refund(&self, resource: Resource, amount: usize) {
        self.used[resource as usize].fetch_sub(amount, Ordering::Relaxed);
        self.table.used[resource as usize].fetch_sub(amount, Ordering::Relaxed);
    }

    fn try_charge(&self, resource: Resource, amount: usize) -> Result<(), QuotaExceeded> {
        let (index, table) = (resource as usize, &self.table);
        let (total, limit) = (table.totals[index], table.limit_of_principal(resource));
        if !add_within(&self.used[index], amount, limit) {
            return Err(QuotaExceeded { resource, limit, bound: table.bound(resource) });
        }
        if !add_within(&table.used[index], amount, total) {
            self.used[index].fetch_sub(amount, Ordering::Relaxed);
            return Err(QuotaExceeded { resource, limit: total, bound: Bound::Total });
        }
        Ok(())
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut accounts = self.table.accounts();
        // Another account of this principal may have been created meanwhile.
        if accounts.get(&self.principal).is_some_and(|account| account.strong_count() == 0) {
            accounts.remove(&self.principal);
        }
    }
}

impl Permit {
    /// Acquires more.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), QuotaExceeded> {
        self.account.try_charge(self.resource, more)?;
        self.amount += more;
        Ok(())
    }

    /// Moves the amount of another permit of the same resource and account to this one.
    fn absorb(&mut self, other: &mut Self) {
        self.amount += std::mem::take(&mut other.amount);
    }

    /// Releases a part.
    pub(crate) fn shrink(&mut self, less: usize) {
        let less = less.min(self.amount);
        self.amount -= less;
        self.account.refund(self.resource, less);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.account.refund(self.resource, self.amount);
    }
}

/// Adds atomically, unless the sum would exceed the limit.
fn add_within(counter: &AtomicUsize, amount: usize, limit: usize) -> bool {
    let add = |used: usize| used.checked_add(amount).filter(|sum| *sum <= limit);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

/// The quota of the resource subscriptions of one session or stream: their number, and the bytes of
/// their URIs.
#[derive(Debug)]
pub(crate) struct SubscriptionPermits {
    number: Permit,
    bytes: Permit,
}

impl SubscriptionPermits {
    /// Adds one.
    pub(crate) fn add(
        permits: &mut Option<Self>,
        account: &Arc<Account>,
        uri: &str,
    ) -> Result<(), QuotaExceeded> {
        let mut number = account.acquire(Resource::Watched, 1)?;
        let mut bytes = account.acquire(Resource::Held, uri.len())?;
        match permits {
            Some(permits) => {
                permits.number.absorb(&mut number);
                permits.bytes.absorb(&mut bytes);
            }
            None => *permits = Some(Self { number, bytes }),
        }
        Ok(())
    }

    /// Removes one.
    pub(crate) fn remove(&mut self, uri: &str) {
        self.number.shrink(1);
        self.bytes.shrink(uri.len());
    }
}

#[cfg(test)]
mod tests;
