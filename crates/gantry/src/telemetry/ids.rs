//! Ids of traces and spans, and which traces are recorded.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use gantry_gateway::{Span, Trace};
use gantry_protocol::TraceParent;

/// The bits of a trace's id by which systems that sample agree with each other.
const RANDOM: u64 = (1 << 56) - 1;

/// Chooses ids and samples.
#[derive(Debug)]
pub(super) struct Ids {
    /// A secret of this start, so that what is made of consecutive numbers looks random.
    secret: RandomState,
    last: AtomicU64,
    /// Traces whose random part is below this are not recorded.
    threshold: u64,
}

impl Ids {
    /// Records this share of the traces that begin here.
    pub(super) fn new(sample: f64) -> Self {
        let threshold = ((1.0 - sample.clamp(0.0, 1.0)) * (RANDOM + 1) as f64) as u64;
        Self { secret: RandomState::new(), last: AtomicU64::new(0), threshold }
    }

    /// The place of a call in the trace that it came with, or in one that begins with it. Who
    /// begins a trace decides whether it is recorded.
    pub(super) fn span(&self, came: Option<&Trace>) -> Span {
        let parent = came.and_then(|trace| TraceParent::parse(&trace.parent));
        let number = self.last.fetch_add(4, Relaxed);
        let id = |place: u64| self.secret.hash_one(number + place).max(1);
        let trace = match &parent {
            Some(parent) => parent.trace,
            None => (u128::from(id(2)) << 64) | u128::from(id(3)),
        };
        let sampled = match &parent {
            Some(parent) => parent.sampled,
            None => trace as u64 & RANDOM >= self.threshold,
        };
        let state = came.and_then(|trace| trace.state.clone());
        let (call, work, begun) = (id(0), id(1), OnceLock::new());
        Span { trace, parent: parent.map(|it| it.span), call, work, sampled, state, begun }
    }
}
