//! What the allocator keeps of freed memory, and how it is returned to the system.

/// Blocks of at least this size are given back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK: libc::c_int = 1024 * 1024;

/// Lets large blocks go back to the system as soon as they are free. Left to itself, the allocator of
/// glibc takes the largest block that was ever freed, up to 32 MiB, as the size below which it keeps
/// memory: one large message of one server would then be held for ever.
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

/// Returns free pages of the allocator to the system. glibc does so by itself only at the end of its
/// heaps: one small block that is still in use there keeps all free memory before it resident. It
/// locks one heap after the other, for about a millisecond per 10 MB; call it off the reactor.
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

/// Resident memory of this process in bytes, where the system says it.
pub fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
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
