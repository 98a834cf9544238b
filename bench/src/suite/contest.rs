//! A comparison between ways to call a program: by hand, over HTTP, inside this process. Its sides
//! take turns, and its table has a row for each.

use std::ffi::OsStr;
use std::process::Command;

use super::BenchEnv;
use crate::client::request::{Era, FIRST_ID, Work};
use crate::client::{Client, answer};
use crate::fault::Fault;
use crate::folder::Folder;
use crate::process::Server;
use crate::report::Section;
use crate::rounds::{Run, Series, Side, alternate, load, time};
use crate::window::Timing;

/// Calls in flight, and when they are made.
#[derive(Clone, Copy)]
pub(super) struct Pressure {
    pub(super) in_flight: u16,
    pub(super) timing: Timing,
}

/// The sides, not yet measured.
pub(super) struct Contest<'a> {
    bench_env: &'a BenchEnv,
    sides: Vec<Side>,
    pressures: Vec<Pressure>,
}

/// The sides with what they showed.
pub(super) struct Results {
    pressures: Vec<Pressure>,
    all: Vec<Series>,
}

/// Names a side of one contest.
#[derive(Clone, Copy)]
pub(super) struct Key(usize);

impl<'a> Contest<'a> {
    pub(super) fn new(bench_env: &'a BenchEnv) -> Self {
        Self { bench_env, sides: Vec::new(), pressures: Vec::new() }
    }

    /// The tool of a running gateway.
    pub(super) fn http(&mut self, label: &str, server: &Server, pressure: Pressure) -> Key {
        let connections = pressure.in_flight;
        let (era, work) = (Era::Modern, Work::Tool);
        let run = Run { label: label.to_owned(), server, era, work, connections };
        let command = load(&self.bench_env.programs, &run, pressure.timing);
        self.add(label, command, pressure)
    }

    /// The tool of a folder, with the gateway in the process that calls.
    pub(super) fn inside(&mut self, label: &str, folder: &Folder, pressure: Pressure) -> Key {
        let mut command = self.bench_env.programs.bench("inside");
        command.arg("--tools").arg(folder.tools());
        command.arg("--in-flight").arg(pressure.in_flight.to_string());
        time(&mut command, pressure.timing);
        self.add(label, command, pressure)
    }

    /// A program that is started for each call.
    pub(super) fn started(&mut self, label: &str, line: &[&OsStr], pressure: Pressure) -> Key {
        self.by_hand(label, "late", line, pressure)
    }

    /// A program that is started ahead of each call, and waits for it.
    pub(super) fn ahead(&mut self, label: &str, line: &[&OsStr], pressure: Pressure) -> Key {
        self.by_hand(label, "ahead", line, pressure)
    }

    /// A program that is started once.
    pub(super) fn living(&mut self, label: &str, line: &[&OsStr], pressure: Pressure) -> Key {
        self.by_hand(label, "once", line, pressure)
    }

    /// The same, over the runtime that a gateway has.
    pub(super) fn living_async(&mut self, label: &str, line: &[&OsStr], pressure: Pressure) -> Key {
        let mut command = self.bench_env.programs.bench("ping-pong");
        time(&mut command, pressure.timing);
        command.arg("--").args(line);
        self.add(label, command, pressure)
    }

    /// Measures all sides in turn.
    pub(super) fn measure(self) -> Result<Results, Fault> {
        let all = alternate(self.bench_env.plan.rounds, self.sides)?;
        Ok(Results { pressures: self.pressures, all })
    }

    fn by_hand(&mut self, label: &str, start: &str, line: &[&OsStr], pressure: Pressure) -> Key {
        let mut command = self.bench_env.programs.bench("by-hand");
        command.arg("--start").arg(start).arg("--in-flight").arg(pressure.in_flight.to_string());
        time(&mut command, pressure.timing);
        command.arg("--").args(line);
        self.add(label, command, pressure)
    }

    fn add(&mut self, label: &str, command: Command, pressure: Pressure) -> Key {
        self.sides.push(Side { label: label.to_owned(), command });
        self.pressures.push(pressure);
        Key(self.sides.len() - 1)
    }
}

impl Results {
    /// What one side showed.
    pub(super) fn of(&self, key: Key) -> &Series {
        &self.all[key.0]
    }

    /// The table.
    pub(super) fn section(&self, title: &str, note: &str) -> Section {
        Section {
            title: title.to_owned(),
            head: &[
                "target",
                "in flight",
                "pause ms",
                "calls/s",
                "p50 us",
                "p99 us",
                "CPU us/call",
            ],
            rows: self.all.iter().zip(&self.pressures).map(row).collect(),
            note: note.to_owned(),
        }
    }
}

fn row((series, pressure): (&Series, &Pressure)) -> Vec<String> {
    vec![
        series.label.clone(),
        pressure.in_flight.to_string(),
        pressure.timing.pace.to_string(),
        format!("{:.0}", series.median(|it| it.calls_per_second)),
        format!("{:.0}", series.median(|it| it.p50_us)),
        format!("{:.0}", series.median(|it| it.p99_us)),
        format!("{:.0}", series.median(|it| it.family_us)),
    ]
}

/// A gateway over a folder whose tool has answered once, so that whatever is done only for the first
/// call is done.
pub(super) fn serve(bench_env: &BenchEnv, folder: &Folder) -> Result<Server, Fault> {
    let server = Server::start(bench_env.programs.gantry_with(folder)?)?;
    bench_env.wait(async {
        let mut client = Client::open(&server.address, Era::Modern).await?;
        let mut request = client.prepare(Work::Tool);
        request.number(FIRST_ID);
        client.send(&request).await?;
        answer::check(client.body(), Work::Tool, FIRST_ID)
    })?;
    Ok(server)
}
