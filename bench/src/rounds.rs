//! Rounds over several targets in turn, so that what disturbs the machine disturbs all alike.

use std::process::Stdio;

use crate::client::request::{Era, Work};
use crate::fault::Fault;
use crate::load::Sample;
use crate::process::Server;
use crate::programs::Programs;

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
    /// Less than a minute in all.
    pub(crate) const QUICK: Self =
        Self { rounds: 3, warm_up: 100, window: 600, starts: 7, peers: false };
    /// Some minutes.
    pub(crate) const FULL: Self =
        Self { rounds: 5, warm_up: 400, window: 2500, starts: 21, peers: true };
}

/// One target of the rounds.
pub(crate) struct Run<'a> {
    pub(crate) label: String,
    pub(crate) server: &'a Server,
    pub(crate) era: Era,
    pub(crate) work: Work,
    pub(crate) connections: u16,
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
}

/// Runs all targets once in each round.
pub(crate) fn interleave(
    programs: &Programs,
    plan: Plan,
    runs: &[Run<'_>],
) -> Result<Vec<Series>, Fault> {
    let empty = |run: &Run<'_>| Series { label: run.label.clone(), samples: Vec::new() };
    let mut all: Vec<Series> = runs.iter().map(empty).collect();
    for _ in 0..plan.rounds {
        for (run, series) in runs.iter().zip(&mut all) {
            series.samples.push(once(programs, plan, run)?);
        }
    }
    Ok(all)
}

/// Starts the load process for one window and reads its sample.
fn once(programs: &Programs, plan: Plan, run: &Run<'_>) -> Result<Sample, Fault> {
    let mut command = programs.bench("load");
    command.arg("--url").arg(run.server.address.url());
    command.arg("--pid").arg(run.server.pid().to_string());
    command.arg("--era").arg(word(&run.era)).arg("--work").arg(word(&run.work));
    command.arg("--connections").arg(run.connections.to_string());
    command.arg("--warm-up").arg(plan.warm_up.to_string());
    command.arg("--window").arg(plan.window.to_string());
    let output = command
        .stderr(Stdio::piped())
        .output()
        .map_err(Fault::machine("start the load process"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Fault::Load(format!("{}: {said}", run.label)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Fault::Load(error.to_string()))
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
