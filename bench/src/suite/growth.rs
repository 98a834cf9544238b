//! The cost of one call as the catalogue grows: it should not depend on it.

use super::Stage;
use crate::client::request::{Era, Work};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Plan, Run, Series, interleave};

const SIZES: [usize; 3] = [10, 1000, 10_000];

/// Measures the echo with few and with many tools.
pub(crate) fn measure(stage: &Stage, report: &mut Report) -> Result<(), Fault> {
    let mut servers = Vec::new();
    for size in SIZES {
        servers.push(Server::start(stage.programs.everything(size)?)?);
    }
    let run = |(server, size)| {
        let label = format!("gantry with {size} more tools");
        Run { label, server, era: Era::Modern, work: Work::Echo, connections: 16 }
    };
    let runs: Vec<_> = servers.iter().zip(SIZES).map(run).collect();
    // The limit is narrow, so this row needs more rounds than the others to be fair.
    let plan = Plan { rounds: stage.plan.rounds + 2, ..stage.plan };
    let all = interleave(&stage.programs, plan, &runs)?;
    let [few, thousand, ten_thousand] = &all[..] else {
        return Ok(());
    };
    report.figure(Row::GrowthThousand, thousand.ratio(few, |it| it.cpu_us));
    report.figure(Row::GrowthTenThousand, ten_thousand.ratio(few, |it| it.cpu_us));
    let row = |series: &Series| {
        let cpu = format!("{:.1}", series.median(|it| it.cpu_us));
        vec![series.label.clone(), cpu, format!("{:.2}x", series.ratio(few, |it| it.cpu_us))]
    };
    report.sections.push(Section {
        title: "echo as the catalogue grows".to_owned(),
        head: &["target", "CPU us/call", "against the first"],
        rows: all.iter().map(row).collect(),
        note: String::new(),
    });
    Ok(())
}
