//! How the server is: ready or not, and its counters.

use std::fmt::Write;

use http::StatusCode;

use super::answer;
use super::answer::Answer;
use crate::server_state::ServerState;

/// Whether new clients should come here.
pub(crate) fn ready(server_state: &ServerState) -> Answer {
    match server_state.stopping.is_cancelled() {
        false => answer::text(StatusCode::OK, "ready\n"),
        true => answer::text(StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
    }
}

/// The counters as Prometheus reads them.
pub(crate) fn metrics(server_state: &ServerState) -> Answer {
    let mut out = String::with_capacity(8192);
    server_state.gateway.metrics().write(&mut out);
    let gauges = [
        ("gantry_calls_in_flight", "Calls under way.", server_state.gateway.calls_in_flight()),
        (
            "gantry_calls_parked",
            "Calls waiting for a client's answers.",
            server_state.parking.count(),
        ),
        ("gantry_tasks", "Tasks under way.", server_state.task_table.count()),
        ("gantry_sessions", "Sessions in memory.", server_state.sessions.count()),
        ("gantry_streams", "Open event streams.", server_state.streams()),
    ];
    for (name, help, value) in gauges {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    }
    server_state.mounts.write_metrics(&mut out);
    answer::text(StatusCode::OK, out)
}
