//! The run: each section measures one thing, puts its table into the report, and says what is
//! missing when it cannot.

mod contest;
mod echo;
mod gateway;
mod growth;
mod hop;
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
use crate::process::usage::raise_file_limit;
use crate::programs::Programs;
use crate::report::Report;
use crate::rounds::Plan;

/// How long the few requests of this process may take together; a server that hangs ends them.
const PATIENCE: Duration = Duration::from_secs(60);

/// What every section needs.
pub(crate) struct Stage {
    pub(crate) programs: Programs,
    pub(crate) plan: Plan,
    /// For the few requests that this process sends itself.
    pub(crate) runtime: Runtime,
    /// A part of the names of the sections that are wanted; all if there is none.
    pub(crate) only: Option<String>,
}

impl Stage {
    /// Runs a section's own requests to their end.
    fn wait<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let limited = async { tokio::time::timeout(PATIENCE, work).await };
        self.runtime.block_on(limited).map_err(|_| Fault::Slow("answer"))?
    }
}

type Measure = fn(&Stage, &mut Report) -> Result<(), Fault>;

const SECTIONS: &[(&str, Measure)] = &[
    ("echo over HTTP", echo::measure),
    ("p99 at 64 connections", echo::measure_tail),
    ("tools/list", list::measure),
    ("growth", growth::measure),
    ("hop to HTTP", hop::measure),
    ("hop to HTTP, p99 at 64 connections", hop::measure_tail),
    ("hop to stdio", program::measure),
    ("hop to stdio, peers", program::measure_peers),
    ("tools/list of two servers", list::measure_servers),
    ("growth of servers", growth::measure_servers),
    ("policy on and off", policy::measure),
    ("start", start::measure),
    ("idle memory and size", memory::measure_idle),
    ("sessions and streams", memory::measure_burdens),
    ("echo over stdio", stdio::measure),
    ("native tools", native::measure),
    ("Python tools", python::measure),
    ("registry", levels::measure),
    ("scan", levels::measure_scan),
];

/// Runs all sections. A section that fails leaves a gap in the report and the others go on.
pub(crate) fn run(stage: &Stage, progress: impl Fn(&str)) -> Report {
    raise_file_limit();
    let mut report = Report::default();
    let wanted = |name: &str| stage.only.as_deref().is_none_or(|part| name.contains(part));
    for (name, measure) in SECTIONS.iter().filter(|(name, _)| wanted(name)) {
        progress(name);
        if let Err(fault) = measure(stage, &mut report) {
            report.gap(name, &fault);
        }
    }
    report
}

fn megabytes(bytes: f64) -> f64 {
    bytes / 1e6
}
