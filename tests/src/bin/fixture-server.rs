//! The fixtures as a program of its own, on standard input and output.

use gantry_tests::fixtures;
use gantry_tests::latch::Latch;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = fixtures::all(&Latch::default()).build();
    server.expect("the fixtures can be registered").serve_stdio().await
}
