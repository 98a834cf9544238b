//! Calls that run by themselves, as clients of either era see them.

#![expect(clippy::unwrap_used, reason = "a test may say plainly what it takes for granted")]

mod behind;
mod client;
mod handshake;
mod listen;
mod restart;
mod standalone;

use gantry::ServerSettings;
use gantry_tests::tasks;
use gantry_tests::test_server::{TestOptions, TestServer};

/// A house with tools that run long.
async fn test_server(doors: ServerSettings) -> TestServer {
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    tasks::add(&test_server);
    test_server
}
