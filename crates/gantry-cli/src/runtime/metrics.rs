//! The numbers of `/metrics` that only the program knows: what stands behind it, and its process.

use std::fmt::{Display, Write};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gantry::{Tools, Upstreams};
use gantry_process::memory;
use tokio::task::{AbortHandle, spawn_blocking};

use crate::telemetry::Telemetry;

/// The states of a server, which are all the labels there are.
const STATES: [&str; 6] =
    ["configured", "starting", "ready", "degraded", "backing off", "disabled"];

/// What there is to measure.
pub(crate) struct Measured {
    upstreams: Upstreams,
    tools: Tools,
    telemetry: Option<Arc<Telemetry>>,
    started: SystemTime,
}

impl Measured {
    pub(crate) fn new(
        upstreams: Upstreams,
        tools: Tools,
        telemetry: Option<Arc<Telemetry>>,
    ) -> Self {
        Self { upstreams, tools, telemetry, started: SystemTime::now() }
    }

    /// Writes it as Prometheus reads it.
    pub(crate) fn write(&self, out: &mut String) {
        let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        let name = "gantry_build_info";
        family(out, name, "gauge", "Version of the gateway.", [(version, 1)]);
        self.write_servers(out);
        let processes = self.tools.processes();
        let rows = [("running", processes.running), ("standby", processes.standby)];
        let rows = rows.map(|(state, count)| (format!("{{state=\"{state}\"}}"), count));
        let help = "Tool processes, in a call or on standby.";
        family(out, "gantry_tool_processes", "gauge", help, rows);
        if let Some(telemetry) = &self.telemetry {
            telemetry.write_metrics(out);
        }
        self.write_process(out);
    }

    fn write_servers(&self, out: &mut String) {
        let servers = self.upstreams.status();
        let rows = STATES.map(|state| {
            let count = servers.iter().filter(|server| server.state == state).count();
            (format!("{{state=\"{}\"}}", state.replace(' ', "_")), count)
        });
        family(out, "gantry_servers", "gauge", "Upstream servers by state.", rows);
    }

    /// By the names that every dashboard knows. Where the kernel does not say, nothing is said.
    fn write_process(&self, out: &mut String) {
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let rows = [(
            "process_start_time_seconds",
            "Start time of the process in seconds since 1970.",
            Some(started),
        )];
        let memory = ["VmRSS", "VmSize"].map(kibibytes);
        let numbers = [
            ("process_resident_memory_bytes", "Resident memory in bytes.", memory[0]),
            ("process_virtual_memory_bytes", "Virtual memory in bytes.", memory[1]),
            ("process_open_fds", "Open descriptors.", descriptors()),
            ("process_threads", "Threads of the process.", status("Threads")),
        ];
        let numbers = numbers.map(|(name, help, value)| (name, help, value.map(|it| it as f64)));
        for (name, help, value) in rows.into_iter().chain(numbers) {
            family(out, name, "gauge", help, value.map(|value| (String::new(), value)));
        }
    }
}

/// A family of rows, each with its labels in braces, or none.
fn family<V: Display>(
    out: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    rows: impl IntoIterator<Item = (String, V)>,
) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_some() {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }
    for (labels, value) in rows {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}

fn kibibytes(key: &str) -> Option<u64> {
    status(key).map(|number| number * 1024)
}

/// A number that the kernel tells of this process.
fn status(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

fn descriptors() -> Option<u64> {
    // The folder itself is open while it is read.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}

/// Between two looks at the resident memory.
const INTERVAL: Duration = Duration::from_secs(5);

/// Growth below this is not worth the locks that a trim takes.
const GROWTH: u64 = 8 * 1024 * 1024;

/// Trims until it is dropped.
pub(crate) struct Trimmer(AbortHandle);

impl Trimmer {
    pub(crate) fn start() -> Self {
        Self(tokio::spawn(trim_after_growth()).abort_handle())
    }
}

impl Drop for Trimmer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn trim_after_growth() {
    let Some(mut base) = memory::resident() else { return };
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(now) = memory::resident() else { return };
        if now <= base + GROWTH {
            base = base.min(now);
            continue;
        }
        let _ = spawn_blocking(memory::trim).await;
        base = memory::resident().unwrap_or(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells() {
        for value in [kibibytes("VmRSS"), kibibytes("VmSize"), status("Threads"), descriptors()] {
            assert!(value.is_some_and(|value| value > 0));
        }
        assert_eq!(status("NoSuchKey"), None);
    }
}
