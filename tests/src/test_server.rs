//! A server with the fixtures, listening on a port of its own for as long as a test needs it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gantry::{Authenticator, Eras, GatewaySettings, Link, Server, ServerSettings, Upstreams};
use tokio::task::JoinHandle;

use crate::fixtures;
use crate::latch::Latch;

/// How long anything may take before a test gives up on it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub struct TestServer {
    /// The server.
    pub server: Server,
    /// Where the tool `wait` waits.
    pub latch: Latch,
    /// Where it listens.
    pub address: SocketAddr,
    serving: JoinHandle<()>,
}

/// How a house differs from the usual one.
#[derive(Debug, Clone, Default)]
pub struct TestOptions {
    /// The settings of the doors.
    pub doors: ServerSettings,
    /// The settings of the middle.
    pub middle: GatewaySettings,
    /// Whether it has nothing but one tool.
    pub bare: bool,
    /// Who tells who is at its doors; everyone is the local user without one.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// The servers behind it.
    pub upstreams: Option<Upstreams>,
}

impl TestOptions {
    /// A house for clients of those eras only.
    pub fn eras(eras: Eras) -> Self {
        let doors = ServerSettings { eras, ..ServerSettings::default() };
        Self { doors, ..Self::default() }
    }
}

impl TestServer {
    /// The usual house.
    pub async fn open() -> Self {
        Self::with(TestOptions::default()).await
    }

    /// A house by plan.
    pub async fn with(plan: TestOptions) -> Self {
        let latch = Latch::default();
        let builder = match plan.bare {
            true => fixtures::bare(),
            false => fixtures::all(&latch),
        };
        let builder = match plan.authenticator {
            Some(authenticator) => builder.authenticator(authenticator),
            None => builder,
        };
        let builder = match plan.upstreams {
            Some(upstreams) => builder.upstreams(upstreams),
            None => builder,
        };
        let server = builder
            .server_settings(plan.doors)
            .gateway_settings(plan.middle)
            .build()
            .expect("the fixtures can be registered");
        let listening = server.listen("127.0.0.1:0").await;
        let listening = listening.expect("loopback has a free port");
        let address = listening.address();
        let serving = tokio::spawn(listening.serve());
        Self { server, latch, address, serving }
    }

    /// A connection inside the process.
    pub fn link(&self) -> Link {
        self.server.connect()
    }

    /// Stops in good order and waits for the end.
    pub async fn close(mut self) {
        self.server.stop();
        let served = soon("the end of the server", &mut self.serving).await;
        served.expect("the server did not panic");
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.server.stop();
        self.serving.abort();
    }
}

/// Waits for something that is sure to come, and says what was missing if it does not.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(TIMEOUT, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {TIMEOUT:?}"),
    }
}
