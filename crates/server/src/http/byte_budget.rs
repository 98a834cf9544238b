//! Memory budgets for responses that are being sent, and for requests that are being received: bodies of authenticated callers, in all and
//! per principal, and, far smaller, heads of requests that are not authenticated yet. What fits into
//! the buffer of a connection is not counted. A body is counted for as long as any part of it is held:
//! arguments of a call in flight are slices of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::settings::Settings;

/// The budgets of one listener.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    bodies: usize,
    bodies_of_principal: usize,
    heads: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bodies: usize,
    by: HashMap<Arc<str>, usize>,
    heads: usize,
}

/// A part of a budget, released when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<ByteBudget>,
    /// The principal of a body; none for a head.
    principal: Option<Arc<str>>,
    bytes: usize,
}

impl ByteBudget {
    /// The budget of requests that are being received.
    pub(super) fn for_requests(settings: &Settings) -> Self {
        Self {
            bodies: settings.receiving,
            bodies_of_principal: settings.receiving_of_principal,
            heads: settings.receiving_heads,
            used: Mutex::default(),
        }
    }

    /// The budget of responses that are being sent: a client that does not read keeps one in memory.
    pub(super) fn for_responses(settings: &Settings) -> Self {
        Self {
            bodies: settings.sending,
            bodies_of_principal: settings.sending_of_principal,
            heads: 0,
            used: Mutex::default(),
        }
    }

    /// An empty charge for a head.
    pub(super) fn head(self: &Arc<Self>) -> Charge {
        Charge { budget: self.clone(), principal: None, bytes: 0 }
    }

    /// An empty charge for a body.
    pub(crate) fn body(self: &Arc<Self>, principal: &Arc<str>) -> Charge {
        Charge { budget: self.clone(), principal: Some(principal.clone()), bytes: 0 }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Charge {
    /// Raises the charge to so many bytes in all. Returns false, without a change, if the budget does
    /// not have that many left.
    pub(crate) fn raise_to(&mut self, bytes: usize) -> bool {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else {
            return true;
        };
        let mut used = self.budget.used();
        match &self.principal {
            None if used.heads + more > self.budget.heads => return false,
            None => used.heads += more,
            Some(principal) => {
                let own = used.by.get(principal).copied().unwrap_or_default() + more;
                if own > self.budget.bodies_of_principal || used.bodies + more > self.budget.bodies
                {
                    return false;
                }
                used.bodies += more;
                used.by.insert(principal.clone(), own);
            }
        }
        self.bytes = bytes;
        true
    }

    /// Ties the charge to the bytes: it is released with the last reference to them.
    pub(crate) fn attach_to(self, received: Bytes) -> Bytes {
        match self.bytes {
            0 => received,
            _ => Bytes::from_owner(ChargedBytes { received, _charge: self }),
        }
    }
}

/// Bytes with the charge for them.
struct ChargedBytes {
    received: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.received
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut used = self.budget.used();
        let Some(principal) = &self.principal else {
            used.heads -= self.bytes;
            return;
        };
        used.bodies -= self.bytes;
        if let Some(own) = used.by.get_mut(principal) {
            *own -= self.bytes;
            if *own == 0 {
                used.by.remove(principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Arc<ByteBudget> {
        let settings = Settings {
            receiving: 100,
            receiving_of_principal: 60,
            receiving_heads: 10,
            ..Settings::default()
        };
        Arc::new(ByteBudget::for_requests(&settings))
    }

    #[test]
    fn nobody_has_more_than_a_share_and_all_is_given_back() {
        let budget = budget();
        let (ada, bob): (Arc<str>, Arc<str>) = ("ada".into(), "bob".into());
        for round in 0..2 {
            let mut first = budget.body(&ada);
            assert!(first.raise_to(40) && first.raise_to(30), "round {round}");
            let mut second = budget.body(&ada);
            assert!(second.raise_to(20) && !second.raise_to(21), "a principal has a share");
            let mut third = budget.body(&bob);
            assert!(third.raise_to(40) && !third.raise_to(41), "all together have a limit");
            let mut head = budget.head();
            assert!(head.raise_to(10) && !head.raise_to(11), "heads have a budget of their own");
        }
        let used = budget.used();
        assert_eq!((used.bodies, used.heads, used.by.len()), (0, 0, 0));
    }

    #[test]
    fn a_charge_lasts_as_long_as_any_part_of_the_bytes() {
        let budget = budget();
        let mut charge = budget.body(&"ada".into());
        assert!(charge.raise_to(50));
        let body = charge.attach_to(Bytes::from(vec![7; 50]));
        let part = body.slice(10..20);
        drop(body);
        assert_eq!(budget.used().bodies, 50);
        assert_eq!(&*part, &[7; 10]);
        drop(part);
        assert_eq!(budget.used().bodies, 0);
    }
}
