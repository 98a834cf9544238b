//! How many calls may be under way at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{CallError, ErrorKind};

/// Counts calls under way.
#[derive(Debug, Clone)]
pub struct InFlight {
    count: Arc<AtomicUsize>,
    limit: usize,
}

/// A place among the calls under way, given back when dropped.
#[derive(Debug)]
pub struct InFlightPermit(Arc<AtomicUsize>);

impl InFlight {
    /// At most this many at once.
    pub fn new(limit: usize) -> Self {
        Self { count: Arc::default(), limit }
    }

    /// Calls under way now.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Takes a place, or says that there is none.
    pub fn enter(&self) -> Result<InFlightPermit, CallError> {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        let permit = InFlightPermit(self.count.clone());
        if before < self.limit {
            return Ok(permit);
        }
        let kind =
            ErrorKind::LimitExceeded { retry_after: Some(std::time::Duration::from_secs(1)) };
        let limit = self.limit;
        Err(CallError::new(
            kind,
            format!("{limit} calls are under way, as many as may be; try again shortly"),
        ))
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
