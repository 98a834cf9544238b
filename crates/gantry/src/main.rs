//! The `gantry` program.

mod cli;

use std::process::ExitCode;

use gantry_transport::child::{guard_with, stand_guard};

/// The word with which the program starts itself to look after what it starts.
const WARDEN: &str = "__warden";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    // Asked before all else: a warden must stay small.
    if let (Some(WARDEN), Some(owner)) = (words.next().as_deref(), words.next()) {
        stand_guard(&owner);
        return ExitCode::SUCCESS;
    }
    guard_with(WARDEN);
    cli::run()
}
