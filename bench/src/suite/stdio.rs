//! `echo` over stdio: one call at a time, and sixteen in flight.

use std::process::Command;
use std::time::Duration;

use super::BenchEnv;
use crate::client::pipe::Pipe;
use crate::client::request::FIRST_ID;
use crate::fault::Fault;
use crate::goals::Level;
use crate::report::{Report, Section};
use crate::rounds::{Plan, Series};
use crate::window::{Meter, Sample};

const OURS: &str = "gantry";
const DEPTHS: [usize; 2] = [1, 16];

/// Measures a hand-written child and our example in turn.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let mut names = vec!["hand-written", OURS];
    if let Err(fault) = bench_env.programs.everything_stdio() {
        report.gap("our stdio", &fault);
        names.pop();
    }
    let pairs = DEPTHS.iter().flat_map(|depth| names.iter().map(move |name| (*name, *depth)));
    let empty =
        |(name, depth): (&str, _)| (depth, Series { label: name.to_owned(), samples: Vec::new() });
    let mut all: Vec<(usize, Series)> = pairs.map(empty).collect();
    for _ in 0..bench_env.plan.rounds {
        for (depth, series) in &mut all {
            let command = match series.label.as_str() {
                OURS => bench_env.programs.everything_stdio()?,
                _ => bench_env.programs.bench("bare-stdio"),
            };
            series.samples.push(window(command, *depth, bench_env.plan)?);
        }
    }
    report.sections.push(Section {
        title: "echo over stdio, 2025-11-25".to_owned(),
        head: &["target", "in flight", "calls/s", "p50 us", "p99 us", "CPU us/call"],
        rows: all.iter().map(row).collect(),
        note: String::new(),
    });
    if let Some((_, ours)) = all.iter().find(|(depth, series)| *depth == 1 && series.label == OURS)
    {
        report.level(Level::StdioTime, ours.median(|it| it.p99_us) / 1e3);
        report.level(Level::StdioRate, ours.median(|it| it.calls_per_second));
    }
    Ok(())
}

fn row((depth, series): &(usize, Series)) -> Vec<String> {
    vec![
        series.label.clone(),
        depth.to_string(),
        format!("{:.0}", series.median(|it| it.calls_per_second)),
        format!("{:.0}", series.median(|it| it.p50_us)),
        format!("{:.0}", series.median(|it| it.p99_us)),
        format!("{:.1}", series.median(|it| it.cpu_us)),
    ]
}

/// One window over a fresh child. A pipe gives many calls in little time, so half a window is enough.
fn window(command: Command, depth: usize, plan: Plan) -> Result<Sample, Fault> {
    let (warm_up, lasts) =
        (Duration::from_millis(plan.warm_up), Duration::from_millis(plan.window / 2));
    let mut pipe = Pipe::start(command, warm_up + lasts)?;
    let (_, next) = pipe.play(FIRST_ID, depth, warm_up)?;
    let meter = Meter::start(pipe.pid())?;
    let (times, _) = pipe.play(next, depth, lasts)?;
    Ok(meter.stop()?.sample(times))
}
