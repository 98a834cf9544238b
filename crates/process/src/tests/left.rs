//! What is left of a process group, counted from `/proc`, and a place for files.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Waits for something that another process does.
pub(super) async fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come to pass");
        tokio::task::yield_now().await;
    }
}

/// Sees that a group has no member any more, not even one that waits to be reaped by us.
pub(super) async fn assert_gone(group: u32) {
    until(|| live_members(group) == 0).await;
}

/// The members of a group. A dead one whose parent is another process is that parent's to reap.
pub(super) fn live_members(group: u32) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let members = stats.filter(|stat| {
        // The name before it may hold anything, a parenthesis too.
        let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
        let fields: Vec<_> = fields.split(' ').collect();
        let ours = fields[1] == std::process::id().to_string();
        fields[2] == group.to_string() && (fields[0] != "Z" || ours)
    });
    members.count()
}

/// A set of signals as the kernel tells it, as bits.
pub(super) fn signals(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(":\t"));
    found.map_or(0, |bits| u64::from_str_radix(bits, 16).unwrap())
}

/// Whether a process sleeps in a read of its standard input, which is system call 0 or 63.
pub(super) fn waits_for_input(process: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
    call.starts_with("0 0x0 ") || call.starts_with("63 0x0 ")
}

/// A directory that is removed at the end.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gantry-child-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Writes a file.
    pub(super) fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
