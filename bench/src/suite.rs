//! The run: each section measures one thing, puts its table into the report, and says what is
//! missing when it cannot.

mod contest;
mod echo;
mod gateway;
mod growth;
mod hop;
mod large;
mod levels;
mod list;
mod memory;
mod native;
mod policy;
mod program;
mod python;
mod start;
mod stdio;

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::fault::Fault;
use crate::goals::Row;
use crate::process::usage::raise_file_limit;
use crate::programs::Programs;
use crate::report::Report;
use crate::rounds::Plan;

/// How long the few requests of this process may take together; a server that hangs ends them.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What every section needs.
pub(crate) struct BenchEnv {
    pub(crate) programs: Programs,
    pub(crate) plan: Plan,
    /// For the few requests that this process sends itself.
    pub(crate) runtime: Runtime,
}

impl BenchEnv {
    /// Runs a section's own requests to their end.
    fn wait<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let limited = async { tokio::time::timeout(TIMEOUT, work).await };
        self.runtime.block_on(limited).map_err(|_| Fault::Slow("answer"))?
    }
}

/// A section of the run.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    measure: fn(&BenchEnv, &mut Report) -> Result<(), Fault>,
    /// The rows that it measures.
    pub(crate) rows: &'static [Row],
}

const fn part(
    name: &'static str,
    measure: fn(&BenchEnv, &mut Report) -> Result<(), Fault>,
    rows: &'static [Row],
) -> Part {
    Part { name, measure, rows }
}

/// All parts, in the order of the report.
#[rustfmt::skip]
pub(crate) const PARTS: &[Part] = &[
    part("echo over HTTP", echo::measure, &[Row::EchoModernBare, Row::EchoLegacyBare, Row::EchoModernRmcp, Row::EchoLegacyRmcp]),
    part("p99 at 64 connections", echo::measure_tail, &[Row::Tail]),
    part("tools/list", list::measure, &[Row::List]),
    part("growth", growth::measure, &[Row::GrowthThousand, Row::GrowthTenThousand]),
    part("hop to HTTP", hop::measure, &[Row::HopModern, Row::HopLegacy, Row::HopDown, Row::HopUp]),
    part("hop to rmcp over HTTP", hop::measure_rmcp, &[Row::HopModernRmcp, Row::HopLegacyRmcp]),
    part("hop to HTTP, p99 at 64 connections", hop::measure_tail, &[Row::HopTail]),
    part("hop to stdio", program::measure, &[Row::StdioModern, Row::StdioLegacy]),
    part("hop to rmcp over stdio", program::measure_rmcp, &[Row::StdioModernRmcp, Row::StdioLegacyRmcp]),
    part("hop to stdio, peers", program::measure_peers, &[]),
    part("tools/list of two servers", list::measure_servers, &[Row::ServersList]),
    part("growth of servers", growth::measure_servers, &[Row::TenServers, Row::HundredServers]),
    part("large results", large::measure, &[Row::LargeKilobyte, Row::LargeHundredKilobytes, Row::LargeMegabyte, Row::LargeTenMegabytes]),
    part("memory of a large result", large::measure_memory, &[Row::LargeMemory]),
    part("bystander of a large result", large::measure_bystander, &[Row::Bystander]),
    part("policy on and off", policy::measure, &[Row::PolicyModern, Row::PolicyLegacy]),
    part("start", start::measure, &[Row::Start]),
    part("idle memory and size", memory::measure_idle, &[Row::Idle, Row::Binary]),
    part("sessions and streams", memory::measure_burdens, &[Row::Sessions, Row::GetStreams, Row::ListenStreams]),
    part("echo over stdio", stdio::measure, &[]),
    part("native tools", native::measure, &[Row::NativeStart, Row::NativeStandby, Row::NativeStandbyPaced]),
    part("Python tools", python::measure, &[Row::PythonStandby, Row::PythonFlatOut]),
    part("registry", levels::measure, &[]),
    part("administration", levels::measure_administration, &[]),
    part("scan", levels::measure_scan, &[]),
];

/// Runs the parts that are wanted. One that fails leaves a gap in the report and the others go on.
pub(crate) fn run(
    bench_env: &BenchEnv,
    is_wanted: impl Fn(&Part) -> bool,
    progress: impl Fn(&str),
) -> Report {
    raise_file_limit();
    let mut report = Report::default();
    for part in PARTS.iter().filter(|part| is_wanted(part)) {
        progress(part.name);
        if let Err(fault) = (part.measure)(bench_env, &mut report) {
            report.gap(part.name, &fault);
        }
    }
    report
}

fn megabytes(bytes: f64) -> f64 {
    bytes / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goals::GOALS;

    #[test]
    fn one_part_measures_a_row() {
        for goal in GOALS {
            let parts = PARTS.iter().filter(|part| part.rows.contains(&goal.row)).count();
            assert_eq!(parts, 1, "{}", goal.text);
        }
    }
}
