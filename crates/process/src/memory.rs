//! Memory of this process and of children: resident sizes from `/proc`, and how the allocator returns
//! freed memory to the system.

/// Freed blocks of at least this size are returned to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK: libc::c_int = 1024 * 1024;

/// Returns large blocks to the system as soon as they are free. By default glibc raises the
/// threshold to the largest block that was ever freed, up to 32 MiB, below which it keeps memory:
/// one large message of one server would then be held for ever.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator's setting has no safe call")
)]
pub fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a number of the allocator and touches no memory of ours.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK);
    }
}

/// Returns free pages to the system. By itself glibc does so only at the end of its heaps: one
/// small block in use there keeps all free memory before it resident. It locks one heap after the
/// other, for about a millisecond per 10 MB; call it off the reactor.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator has no safe call for it")
)]
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it gives back pages that hold no allocated block, and takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Resident memory of this process in bytes, where the system reports it.
pub fn resident() -> Option<u64> {
    resident_of("self")
}

fn resident_of(process: &str) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

/// Processes of one tree that are counted at most.
const COUNTED: usize = 512;

/// Resident memory of a process and all its descendants in bytes. Shared pages count for each
/// process; a descendant whose parent has exited is not found.
pub(crate) fn memory_of_tree(process: u32) -> u64 {
    let (mut total, mut counted) = (0, 0);
    let mut open = vec![process];
    while let Some(id) = open.pop() {
        total += memory_of(id);
        counted += 1;
        if counted + open.len() < COUNTED {
            open.extend(children_of(id));
        }
    }
    total
}

/// The children of a process.
fn children_of(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let listed = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    listed
        .flat_map(|ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Resident memory of a process in bytes; zero if it does not exist.
pub(crate) fn memory_of(process: u32) -> u64 {
    resident_of(&process.to_string()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn resident_memory_is_known_and_trimming_keeps_what_is_in_use() {
        let used = vec![7_u8; 4 << 20];
        trim();
        assert!(resident().is_some_and(|bytes| bytes >= 4 << 20));
        assert!(used.iter().all(|byte| *byte == 7));
    }
}
