//! Which runs of the official suite there are, and how many scenarios each of them has.

/// The suite that knows the stateless revision.
const CURRENT: &str = "0.2.0-alpha.12";
/// The suite's last stable line.
const STABLE: &str = "0.1.16";

/// One call of the suite.
pub(super) struct Run {
    pub(super) name: &'static str,
    pub(super) suite: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// How many scenarios the suite judges for these arguments, without those of the tasks
    /// extension: fewer means that it stopped early.
    pub(super) scenarios: usize,
    /// How many it judges of the tasks extension. One more is there but always skipped.
    pub(super) tasks: usize,
}

/// All runs, in the order of the table.
pub(super) const RUNS: &[Run] = &[
    Run {
        name: "required-2025-11-25",
        suite: CURRENT,
        arguments: &["--requirements", "2025-11-25"],
        scenarios: 33,
        tasks: 0,
    },
    Run {
        name: "required-2026-07-28",
        suite: CURRENT,
        arguments: &["--requirements", "2026-07-28"],
        scenarios: 40,
        tasks: 9,
    },
    Run {
        name: "all-2025-03-26",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2025-03-26"],
        scenarios: 1,
        tasks: 0,
    },
    Run {
        name: "all-2025-06-18",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2025-06-18"],
        scenarios: 27,
        tasks: 0,
    },
    Run {
        name: "all-2025-11-25",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2025-11-25"],
        scenarios: 33,
        tasks: 0,
    },
    Run {
        name: "all-2026-07-28",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2026-07-28"],
        scenarios: 40,
        tasks: 0,
    },
    Run {
        name: "stable-all",
        suite: STABLE,
        arguments: &["--suite", "all"],
        scenarios: 32,
        tasks: 0,
    },
];
