//! A name for each call, that logs, traces and the record share.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Chosen at the start of the program, so that numbers of two starts differ.
static START: LazyLock<String> = LazyLock::new(|| {
    let chosen = RandomState::new().hash_one(std::process::id()) as u32;
    format!("{chosen:08x}-")
});

static LAST: AtomicU64 = AtomicU64::new(0);

/// Which call it is: no two are alike, also after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallNumber(u64);

impl CallNumber {
    pub(crate) fn next() -> Self {
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl fmt::Display for CallNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&START)?;
        fmt::Display::fmt(&self.0, formatter)
    }
}
