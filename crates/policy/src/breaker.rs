//! Leaves a server alone that does not answer: after some failures in a row its calls are refused
//! at once, until a single one that is let through shows that it is well again.

mod circuit;

use std::fmt::Write;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::HashMap;
use gantry_gateway::policy::{CallFilter, Decision, OnEnd, Permit, PolicyDecision};
use gantry_gateway::{CallContext, CallError, ErrorKind, Outcome, Resolved};
use gantry_protocol::json::ObjectWriter;

use self::circuit::{Circuit, Way};
use crate::limits::{spoken, whole};
pub use circuit::BreakerState;

/// When a server is left alone, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Failures in a row until it is; zero for never.
    pub failures: u32,
    /// A failure this long after the last one begins a new row.
    pub window: Duration,
    /// How long it is left alone the first time. Doubles each time that it has not helped.
    pub wait: Duration,
    /// And at most.
    pub longest: Duration,
    /// Servers that are known at once.
    pub servers: usize,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures: 5,
            window: Duration::from_secs(60),
            wait: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            servers: 4096,
        }
    }
}

/// A breaker for each server. Clones share them.
#[derive(Debug, Clone)]
pub struct Breakers(Arc<House>);

#[derive(Debug)]
struct House {
    settings: ArcSwap<BreakerSettings>,
    circuits: RwLock<HashMap<Arc<str>, Arc<Circuit>>>,
}

/// Servers that have rows of their own in the metrics.
const LABELS: usize = 200;

impl Breakers {
    /// Breakers with these settings, all of them closed.
    pub fn new(settings: BreakerSettings) -> Self {
        let settings = ArcSwap::from_pointee(settings);
        Self(Arc::new(House { settings, circuits: RwLock::default() }))
    }

    /// Puts other settings in force, at once.
    pub fn configure(&self, settings: BreakerSettings) {
        self.0.settings.store(Arc::new(settings));
    }

    /// How the breaker of a server stands.
    pub fn state(&self, server: &str) -> BreakerState {
        self.find(server).map_or(BreakerState::Closed, |circuit| circuit.state())
    }

    /// Forgets what a server did: it begins anew.
    pub fn reset(&self, server: &str) {
        self.0.circuits.write().unwrap_or_else(PoisonError::into_inner).remove(server);
    }

    /// Writes how each stands, as Prometheus reads it: 0 closed, 1 half open, 2 open.
    pub fn write_metrics(&self, out: &mut String) {
        out.push_str("# HELP gantry_breaker Whether calls to a server are refused because it fails: 0 no, 1 one is tried, 2 yes.\n");
        out.push_str("# TYPE gantry_breaker gauge\n");
        let circuits = self.0.circuits.read().unwrap_or_else(PoisonError::into_inner);
        let mut rows: Vec<_> = circuits.iter().map(|(name, it)| (name, it.state())).collect();
        rows.sort_by_key(|(name, state)| (std::cmp::Reverse(*state as u8), (*name).clone()));
        for (server, state) in rows.into_iter().take(LABELS) {
            let server = server.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = writeln!(out, "gantry_breaker{{server=\"{server}\"}} {}", state as u8);
        }
    }

    fn find(&self, server: &str) -> Option<Arc<Circuit>> {
        self.0.circuits.read().unwrap_or_else(PoisonError::into_inner).get(server).cloned()
    }

    /// The circuit of a server. One that is closed says nothing, and gives way when there are too
    /// many.
    fn circuit(&self, server: &Arc<str>, most: usize) -> Arc<Circuit> {
        if let Some(circuit) = self.find(server) {
            return circuit;
        }
        let mut circuits = self.0.circuits.write().unwrap_or_else(PoisonError::into_inner);
        if circuits.len() >= most {
            circuits.retain(|_, circuit| circuit.state() != BreakerState::Closed);
        }
        if circuits.len() >= most {
            circuits.clear();
        }
        circuits.entry(server.clone()).or_default().clone()
    }
}

impl CallFilter for Breakers {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let settings = self.0.settings.load();
        let Some(origin) = call.target.origin().filter(|_| settings.failures > 0) else {
            return Decision::GRANTED;
        };
        let circuit = self.circuit(&origin.server, settings.servers);
        match circuit.pass() {
            Way::Through => Decision::Now(Ok(Permit::holding(Watch::new(self, circuit, None)))),
            Way::Probe(probe) => {
                let rule = format!("server {} is tried", origin.server);
                note(context, true, &rule);
                Decision::Now(Ok(Permit::holding(Watch::new(self, circuit, Some(probe)))))
            }
            Way::Refused { failures, wait } => {
                note(context, false, &format!("server {}", origin.server));
                Decision::refused(refusal(&origin.server, failures, wait))
            }
        }
    }
}

fn note(context: &CallContext, allowed: bool, rule: &str) {
    context.note_decision(PolicyDecision { allowed, policy: "breaker", rule: rule.into() });
}

fn refusal(server: &str, failures: u32, wait: Duration) -> CallError {
    let text = format!(
        "the server `{server}` has failed {failures} times in a row and is left alone; \
         try again in {}, or begin it anew with `gantry restart {server}`",
        spoken(wait)
    );
    let data = ObjectWriter::new()
        .value("server", server)
        .value("retryAfterMs", &u64::try_from(whole(wait).as_millis()).unwrap_or(u64::MAX))
        .finish();
    CallError::new(ErrorKind::Unavailable, text).with_data(data)
}

/// Sees how a call to a server ends.
struct Watch {
    breakers: Breakers,
    circuit: Arc<Circuit>,
    /// The number of the try that this call is, if it is one.
    probe: Option<u64>,
}

impl Watch {
    fn new(breakers: &Breakers, circuit: Arc<Circuit>, probe: Option<u64>) -> Self {
        Self { breakers: breakers.clone(), circuit, probe }
    }
}

impl OnEnd for Watch {
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError> {
        let settings = self.breakers.0.settings.load();
        match is_failure(outcome) {
            true => self.circuit.failed(self.probe.take(), &settings),
            false => self.circuit.succeeded(self.probe.take()),
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A try that was given up has shown nothing: the next call is one.
        if let Some(probe) = self.probe {
            self.circuit.abandon(probe);
        }
    }
}

/// Whether a call failed because of the server, rather than of what it was asked.
fn is_failure(outcome: &Outcome) -> bool {
    matches!(outcome, Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Timeout))
}

#[cfg(test)]
mod tests;
