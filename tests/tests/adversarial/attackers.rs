//! Clients that call a hostile tool again and again, and read what they are told without a look at it.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use gantry_tests::request::call;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Calls at a time.
const CALLERS: usize = 4;

/// The callers, until they are told to end. They have a thread of their own, and what others leave of
/// the processors: what they do with megabytes must not delay the clock of whoever measures.
pub(crate) struct Attackers {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Attackers {
    /// Begins.
    pub(crate) fn start(address: SocketAddr) -> Self {
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            rustix::process::nice(19).expect("less is always granted");
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let mut callers = JoinSet::new();
                for _ in 0..CALLERS {
                    callers.spawn(again_and_again(address));
                }
                drop(ended.await);
            });
        });
        Self { end, thread }
    }

    /// Ends, and has closed every connection when it returns.
    pub(crate) fn end(self) {
        drop(self.end);
        self.thread.join().expect("no caller panics");
    }
}

async fn again_and_again(address: SocketAddr) {
    let request = call("odd_odd", json!({}));
    loop {
        drop(request.send(address).await.text().await);
    }
}
