//! Calls that go on beside a test, none of which may fail.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Duration, sleep};

use super::said;
use crate::request::call;

/// Calls of one tool, one after the other, until they are ended.
#[derive(Debug)]
pub struct Load {
    stop: watch::Sender<bool>,
    made: watch::Receiver<usize>,
    calling: JoinHandle<Vec<String>>,
}

impl Load {
    /// Begins to call.
    pub fn start(address: SocketAddr, tool: &str, arguments: &Value) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (count, made) = watch::channel(0);
        let (name, request) = (tool.to_owned(), call(tool, arguments.clone()));
        let calling = tokio::spawn(async move {
            let mut failures = Vec::new();
            while !*stopped.borrow() {
                if let Err(error) = said(&request.ask(address).await) {
                    failures.push(format!("{name}: {error}"));
                }
                count.send_modify(|count| *count += 1);
                // The pace of the load; others need the machine too.
                sleep(Duration::from_millis(10)).await;
            }
            failures
        });
        Self { stop, made, calling }
    }

    /// Waits until one more call has been made from beginning to end, and checks that none failed.
    /// Tells how many were made.
    pub async fn end(self) -> usize {
        let mut made = self.made;
        let before = *made.borrow();
        let another = made.wait_for(|made| *made >= before + 2).await.map(|made| *made);
        let count = another.expect("it calls until it is told to stop");
        self.stop.send_replace(true);
        let failures = self.calling.await.expect("it does not panic");
        assert!(failures.is_empty(), "{} of {count} calls failed: {failures:?}", failures.len());
        count
    }
}
