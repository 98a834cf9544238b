//! Rounds over several targets in turn, so that what disturbs the machine disturbs all alike.

use std::process::{Command, Stdio};

use crate::client::request::{Address, Era, Work};
use crate::fault::Fault;
use crate::process::Server;
use crate::programs::Programs;
use crate::window::{Sample, Timing};

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) warm_up: u64,
    pub(crate) window: u64,
    /// How often a process is started to see how fast it answers.
    pub(crate) starts: usize,
    /// Whether the rows that need more time for peers are wanted.
    pub(crate) peers: bool,
}

impl Plan {
    /// Some two minutes in all.
    pub(crate) const QUICK: Self =
        Self { rounds: 3, warm_up: 100, window: 600, starts: 7, peers: false };
    /// Some minutes.
    pub(crate) const FULL: Self =
        Self { rounds: 5, warm_up: 400, window: 2500, starts: 21, peers: true };

    /// When to measure, one call after the other.
    pub(crate) fn timing(self) -> Timing {
        Timing { warm_up: self.warm_up, window: self.window, pace: 0 }
    }
}

/// One target of the rounds.
pub(crate) struct Run<'a> {
    pub(crate) label: String,
    pub(crate) server: &'a Server,
    pub(crate) era: Era,
    pub(crate) work: Work,
    pub(crate) connections: u16,
}

/// One side of a comparison: a process that measures for one window and prints its sample.
pub(crate) struct Side {
    pub(crate) label: String,
    pub(crate) command: Command,
}

impl Side {
    fn measure(&mut self) -> Result<Sample, Fault> {
        let command = self.command.stderr(Stdio::piped());
        let output = command.output().map_err(Fault::machine("start the load process"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Fault::Load(format!("{}: {said}", self.label)));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| Fault::Load(error.to_string()))
    }
}

/// What the rounds showed for one target.
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) samples: Vec<Sample>,
}

impl Series {
    /// The median of one figure over the rounds.
    pub(crate) fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(self.samples.iter().map(figure))
    }

    /// The median over the rounds of this series' figure divided by the other's in the same round.
    pub(crate) fn ratio(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> f64 {
        let pairs = self.samples.iter().zip(&other.samples);
        median(pairs.map(|(ours, theirs)| figure(ours) / figure(theirs)))
    }

    /// The same for the difference.
    pub(crate) fn above(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> f64 {
        let pairs = self.samples.iter().zip(&other.samples);
        median(pairs.map(|(ours, theirs)| figure(ours) - figure(theirs)))
    }
}

/// Runs all targets once in each round.
pub(crate) fn interleave(
    programs: &Programs,
    plan: Plan,
    runs: &[Run<'_>],
) -> Result<Vec<Series>, Fault> {
    let side = |run: &Run<'_>| Side {
        label: run.label.clone(),
        command: load(programs, run, plan.timing()),
    };
    alternate(plan.rounds, runs.iter().map(side).collect())
}

/// Lets each side measure once in each round.
pub(crate) fn alternate(rounds: usize, mut sides: Vec<Side>) -> Result<Vec<Series>, Fault> {
    let empty = |side: &Side| Series { label: side.label.clone(), samples: Vec::new() };
    let mut all: Vec<Series> = sides.iter().map(empty).collect();
    for _ in 0..rounds {
        for (side, series) in sides.iter_mut().zip(&mut all) {
            series.samples.push(side.measure()?);
        }
    }
    Ok(all)
}

/// The load process for one window.
pub(crate) fn load(programs: &Programs, run: &Run<'_>, timing: Timing) -> Command {
    load_at(programs, run, &run.server.address, timing)
}

/// The same for one endpoint of the server.
pub(crate) fn load_at(
    programs: &Programs,
    run: &Run<'_>,
    address: &Address,
    timing: Timing,
) -> Command {
    let mut command = programs.bench("load");
    command.arg("--url").arg(address.url());
    command.arg("--pid").arg(run.server.pid().to_string());
    command.arg("--era").arg(word(&run.era)).arg("--work").arg(word(&run.work));
    command.arg("--connections").arg(run.connections.to_string());
    time(&mut command, timing);
    command
}

/// Tells a process that measures for how long.
pub(crate) fn time(command: &mut Command, timing: Timing) {
    command.arg("--warm-up").arg(timing.warm_up.to_string());
    command.arg("--window").arg(timing.window.to_string());
    command.arg("--pace").arg(timing.pace.to_string());
}

fn word(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
}

/// The middle value; the lower of the two when there are two.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        for (values, expected) in
            [(vec![3.0, 1.0, 2.0], 2.0), (vec![5.0], 5.0), (vec![4.0, 1.0], 1.0)]
        {
            assert!((median(values.into_iter()) - expected).abs() < 1e-9);
        }
        assert!(median(std::iter::empty()).is_nan());
    }
}
