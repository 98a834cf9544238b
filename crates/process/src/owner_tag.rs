//! The mark that all processes of this gateway carry in their environment, and their children
//! with them. Whoever leaves the process group of its call is still known by it.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The variable that carries the mark.
pub(crate) const VARIABLE: &str = "GANTRY_OWNER";

/// What this process is known by, among all that there are and were.
static OWNER: LazyLock<String> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(std::time::SystemTime::now());
    format!("{}-{random:016x}", std::process::id())
});

/// One child and all that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OwnerTag(u64);

impl OwnerTag {
    /// A new one.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The value of the variable.
    pub(crate) fn value(self) -> String {
        format!("{}.{}", *OWNER, self.0)
    }
}

/// What all marks of this process have in common.
pub(crate) fn owner() -> &'static str {
    &OWNER
}

/// Kills every process that carries one of these marks.
pub(crate) fn kill_marked(owner_tags: &HashSet<OwnerTag>) -> usize {
    kill_where(&OWNER, |number| number.parse().is_ok_and(|it| owner_tags.contains(&OwnerTag(it))))
}

/// Kills every process that carries a mark of this owner.
pub(crate) fn kill_owned(owner: &str) -> usize {
    kill_where(owner, |_| true)
}

/// Says how many there were.
fn kill_where(owner: &str, wanted: impl Fn(&str) -> bool) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(|id| kill_if(*id, owner, &wanted)).count()
}

fn kill_if(id: Pid, owner: &str, wanted: &impl Fn(&str) -> bool) -> bool {
    // Taken first: the number may belong to another process by the time of the signal.
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return false };
    let path = format!("/proc/{}/environ", id.as_raw_nonzero());
    let Ok(environment) = std::fs::read(path) else { return false };
    let mut variables = environment.split(|byte| *byte == 0);
    let number = variables.find_map(|variable| {
        let value =
            std::str::from_utf8(variable).ok()?.strip_prefix(VARIABLE)?.strip_prefix('=')?;
        value.strip_prefix(owner)?.strip_prefix('.')
    });
    number.is_some_and(wanted) && pidfd_send_signal(&process, Signal::KILL).is_ok()
}
