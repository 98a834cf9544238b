//! How the server is: ready or not, and its counters.

use std::fmt::Write;

use http::StatusCode;

use super::answer;
use super::answer::Answer;
use crate::lobby::Lobby;

/// Whether new clients should come here.
pub(crate) fn ready(lobby: &Lobby) -> Answer {
    match lobby.stopping.is_cancelled() {
        false => answer::text(StatusCode::OK, "ready\n"),
        true => answer::text(StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
    }
}

/// The counters as Prometheus reads them.
pub(crate) fn metrics(lobby: &Lobby) -> Answer {
    let mut out = String::with_capacity(8192);
    lobby.gateway.meter().write(&mut out);
    let gauges = [
        ("gantry_calls_in_flight", "Calls under way.", lobby.gateway.calls_in_flight()),
        ("gantry_calls_parked", "Calls waiting for a client's answers.", lobby.parking.count()),
        ("gantry_tasks", "Tasks under way.", lobby.task_book.count()),
        ("gantry_sessions", "Sessions in memory.", lobby.sessions.count()),
        ("gantry_streams", "Open event streams.", lobby.streams()),
    ];
    for (name, help, value) in gauges {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    }
    lobby.annexes.write_metrics(&mut out);
    answer::text(StatusCode::OK, out)
}
