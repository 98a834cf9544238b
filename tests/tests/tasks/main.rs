//! Calls that run by themselves, as clients of either era see them.

#![expect(clippy::unwrap_used, reason = "a test may say plainly what it takes for granted")]

mod behind;
mod client;
mod handshake;
mod listen;
mod restart;
mod standalone;

use gantry::DoorSettings;
use gantry_tests::house::{House, Plan};
use gantry_tests::tasks;

/// A house with tools that run long.
async fn house(doors: DoorSettings) -> House {
    let house = House::with(Plan { doors, ..Plan::default() }).await;
    tasks::add(&house);
    house
}
