//! Circuit breakers: after some failures in a row the calls of a server are refused at once (open), until a
//! single call that is let through (half-open) shows that it has recovered (closed).

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::HashMap;
use gantry_gateway::filter::{CallFilter, Decision, OnEnd, Permit, PolicyDecision};
use gantry_gateway::{CallContext, CallError, ErrorKind, Outcome, Resolved};
use gantry_protocol::json::ObjectWriter;
use tokio::time::Instant;

use crate::limits::{spoken, whole};

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

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls go through.
    Closed = 0,
    /// One call is let through, to see.
    HalfOpen = 1,
    /// Calls are refused.
    Open = 2,
}

impl BreakerState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half-open",
            Self::Open => "open",
        }
    }
}

/// One server's breaker.
#[derive(Debug, Default)]
struct Circuit {
    /// Whether anything has failed lately. While nothing has, nothing else is looked at.
    troubled: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    failures: u32,
    last: Option<Instant>,
    open: Option<Open>,
    /// The number of the last try.
    probes: u64,
}

#[derive(Debug)]
struct Open {
    until: Instant,
    wait: Duration,
    /// The try that is under way, and until when it is waited for.
    probe: Option<(u64, Instant)>,
}

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// It goes through.
    Through,
    /// It goes through to see how the server is: the try of that number.
    Probe(u64),
    /// It does not, for so long.
    Refused { failures: u32, wait: Duration },
}

impl Circuit {
    /// Which way a call goes.
    fn pass(&self) -> Way {
        if !self.troubled.load(Ordering::Acquire) {
            return Way::Through;
        }
        let mut inner = self.inner();
        let (failures, number, now) = (inner.failures, inner.probes + 1, Instant::now());
        let Some(open) = &mut inner.open else { return Way::Through };
        // A try that takes longer than this may be a long call; another one can tell as well.
        let until = open.probe.map_or(open.until, |(_, until)| until);
        if now < until {
            return Way::Refused { failures, wait: until - now };
        }
        open.probe = Some((number, now + open.wait));
        inner.probes = number;
        Way::Probe(number)
    }

    /// A call that went through did not find the server failing.
    fn succeeded(&self, probe: Option<u64>) {
        if !self.troubled.load(Ordering::Acquire) {
            return;
        }
        let mut inner = self.inner();
        // A call from before it was opened says nothing about how the server is now.
        if inner.open.is_none() || probe.is_some() {
            *inner = Inner { probes: inner.probes, ..Inner::default() };
            self.troubled.store(false, Ordering::Release);
        }
    }

    /// A call that went through found the server failing.
    fn failed(&self, probe: Option<u64>, settings: &BreakerSettings) {
        let mut inner = self.inner();
        let now = Instant::now();
        self.troubled.store(true, Ordering::Release);
        if inner.last.is_some_and(|last| now - last > settings.window) && inner.open.is_none() {
            inner.failures = 0;
        }
        inner.last = Some(now);
        inner.failures = inner.failures.saturating_add(1);
        let wait = match &inner.open {
            Some(open) if probe.is_some_and(|number| open.is_tried_by(number)) => {
                (open.wait * 2).min(settings.longest).max(settings.wait)
            }
            Some(_) => return,
            None if inner.failures < settings.failures => return,
            None => settings.wait,
        };
        inner.open = Some(Open { until: now + jittered(wait), wait, probe: None });
    }

    /// A try has ended without showing anything.
    fn abandon(&self, probe: u64) {
        if let Some(open) = &mut self.inner().open
            && open.is_tried_by(probe)
        {
            open.probe = None;
        }
    }

    fn state(&self) -> BreakerState {
        match &self.inner().open {
            None => BreakerState::Closed,
            Some(open) if open.probe.is_some() => BreakerState::HalfOpen,
            Some(_) => BreakerState::Open,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn is_tried_by(&self, number: u64) -> bool {
        self.probe.is_some_and(|(probe, _)| probe == number)
    }
}

/// A little longer or shorter, so that gateways do not all try at once.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(rand::random_range(0.8..1.2))
}

#[cfg(test)]
mod tests;
