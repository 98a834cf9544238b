//! A server with the fixtures, listening on a port of its own for as long as a test needs it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gantry::{DoorSettings, Doorman, Eras, GatewaySettings, Link, Server, Upstreams};
use tokio::task::JoinHandle;

use crate::fixtures;
use crate::gate::Gate;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub struct House {
    /// The server.
    pub server: Server,
    /// Where the tool `wait` waits.
    pub gate: Gate,
    /// Where it listens.
    pub address: SocketAddr,
    serving: JoinHandle<()>,
}

/// How a house differs from the usual one.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The settings of the doors.
    pub doors: DoorSettings,
    /// The settings of the middle.
    pub middle: GatewaySettings,
    /// Whether it has nothing but one tool.
    pub bare: bool,
    /// Who tells who is at its doors; everyone is the local user without one.
    pub doorman: Option<Arc<dyn Doorman>>,
    /// The servers behind it.
    pub upstreams: Option<Upstreams>,
}

impl Plan {
    /// A house for clients of those eras only.
    pub fn eras(eras: Eras) -> Self {
        let doors = DoorSettings { eras, ..DoorSettings::default() };
        Self { doors, ..Self::default() }
    }
}

impl House {
    /// The usual house.
    pub async fn open() -> Self {
        Self::with(Plan::default()).await
    }

    /// A house by plan.
    pub async fn with(plan: Plan) -> Self {
        let gate = Gate::default();
        let builder = match plan.bare {
            true => fixtures::bare(),
            false => fixtures::all(&gate),
        };
        let builder = match plan.doorman {
            Some(doorman) => builder.doorman(doorman),
            None => builder,
        };
        let builder = match plan.upstreams {
            Some(upstreams) => builder.upstreams(upstreams),
            None => builder,
        };
        let server = builder
            .door_settings(plan.doors)
            .gateway_settings(plan.middle)
            .build()
            .expect("the fixtures can be registered");
        let listening = server.listen("127.0.0.1:0").await;
        let listening = listening.expect("loopback has a free port");
        let address = listening.address();
        let serving = tokio::spawn(listening.serve());
        Self { server, gate, address, serving }
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

impl Drop for House {
    fn drop(&mut self) {
        self.server.stop();
        self.serving.abort();
    }
}

/// Waits for something that is sure to come, and says what was missing if it does not.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}
