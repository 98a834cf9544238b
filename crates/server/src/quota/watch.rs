//! What the subscriptions of one session or stream are counted with.

use std::sync::Arc;

use super::{Account, Permit, QuotaExceeded, Resource};

/// The number of subscriptions, and the bytes of their addresses.
#[derive(Debug)]
pub(crate) struct WatchPermits {
    number: Permit,
    bytes: Permit,
}

impl WatchPermits {
    /// Counts one more.
    pub(crate) fn add(
        permits: &mut Option<Self>,
        account: &Arc<Account>,
        uri: &str,
    ) -> Result<(), QuotaExceeded> {
        let mut number = account.take(Resource::Watched, 1)?;
        let mut bytes = account.take(Resource::Held, uri.len())?;
        match permits {
            Some(permits) => {
                permits.number.absorb(&mut number);
                permits.bytes.absorb(&mut bytes);
            }
            None => *permits = Some(Self { number, bytes }),
        }
        Ok(())
    }

    /// Counts one less.
    pub(crate) fn remove(&mut self, uri: &str) {
        self.number.shrink(1);
        self.bytes.shrink(uri.len());
    }
}
