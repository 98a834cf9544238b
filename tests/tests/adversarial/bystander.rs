//! A client that calls a tool again and again, and how long it waits for the answers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gantry_tests::request::call;
use gantry_tests::upstream_fixture::said;
use serde_json::json;

/// The pause between two calls: a client, not a load.
const PAUSE: Duration = Duration::from_millis(2);

/// Calls for so long, and gives the time that 99 of 100 calls were within.
pub(crate) async fn p99(address: SocketAddr, tool: &str, time: Duration) -> Duration {
    let (start, mut times) = (Instant::now(), Vec::new());
    let request = call(tool, json!({}));
    while start.elapsed() < time {
        let begun = Instant::now();
        let answer = request.ask(address).await;
        times.push(begun.elapsed());
        assert_eq!(said(&answer).as_deref(), Ok("well"), "the call of a bystander");
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100) - 1]
}
