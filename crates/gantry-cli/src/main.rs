//! The `gantry` program.

use std::process::ExitCode;

use gantry_process::memory;
use gantry_process::{enable_orphan_reaper, run_orphan_reaper};

/// The word with which the program starts itself to look after what it starts.
const WATCHDOG: &str = "__warden";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    // Asked before all else: a warden must stay small.
    if let (Some(WATCHDOG), Some(owner)) = (words.next().as_deref(), words.next()) {
        run_orphan_reaper(&owner);
        return ExitCode::SUCCESS;
    }
    // While there is one thread, and nothing large was allocated yet.
    memory::give_back_large_blocks();
    enable_orphan_reaper(WATCHDOG);
    gantry_cli::run()
}
