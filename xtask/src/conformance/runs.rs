//! Which runs of the official suite there are, of servers and of clients, and how many scenarios
//! each of them has.

/// The suite that knows the stateless revision.
const CURRENT: &str = "0.2.0-alpha.12";
/// The suite's last stable line.
const STABLE: &str = "0.1.16";

/// One call of the suite with a server before it.
pub(super) struct Run {
    pub(super) name: &'static str,
    pub(super) suite: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// How many scenarios the suite judges for these arguments, without those of the tasks
    /// extension: fewer means that it stopped early.
    pub(super) scenarios: usize,
    /// How many it judges of the tasks extension. One more is there but always skipped.
    pub(super) tasks: usize,
    /// Whether it is done through the gateway too.
    pub(super) is_through: bool,
}

/// All runs with a server, in the order of the table.
pub(super) const RUNS: &[Run] = &[
    Run {
        name: "required-2025-11-25",
        suite: CURRENT,
        arguments: &["--requirements", "2025-11-25"],
        scenarios: 33,
        tasks: 0,
        is_through: true,
    },
    Run {
        name: "required-2026-07-28",
        suite: CURRENT,
        arguments: &["--requirements", "2026-07-28"],
        scenarios: 40,
        tasks: 9,
        is_through: true,
    },
    Run {
        name: "all-2025-03-26",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2025-03-26"],
        scenarios: 1,
        tasks: 0,
        is_through: false,
    },
    Run {
        name: "all-2025-06-18",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2025-06-18"],
        scenarios: 27,
        tasks: 0,
        is_through: false,
    },
    Run {
        name: "all-2025-11-25",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2025-11-25"],
        scenarios: 33,
        tasks: 0,
        is_through: false,
    },
    Run {
        name: "all-2026-07-28",
        suite: CURRENT,
        arguments: &["--suite", "all", "--spec-version", "2026-07-28"],
        scenarios: 40,
        tasks: 0,
        is_through: false,
    },
    Run {
        name: "stable-all",
        suite: STABLE,
        arguments: &["--suite", "all"],
        scenarios: 32,
        tasks: 0,
        is_through: false,
    },
];

/// The scenarios of one revision that a client plays, each a call of the suite.
pub(super) struct ClientRun {
    pub(super) name: &'static str,
    pub(super) suite: &'static str,
    pub(super) revision: &'static str,
    pub(super) scenarios: &'static [&'static str],
}

/// All that is required of clients, authorization aside, and what was added after the release.
pub(super) const CLIENT_RUNS: &[ClientRun] = &[
    ClientRun {
        name: "client-2025-11-25",
        suite: CURRENT,
        revision: "2025-11-25",
        scenarios: &[
            "initialize",
            "tools_call",
            "elicitation-sep1034-client-defaults",
            "sse-retry",
            "json-schema-2020-12-preservation",
        ],
    },
    ClientRun {
        name: "client-2026-07-28",
        suite: CURRENT,
        revision: "2026-07-28",
        scenarios: &[
            "tools_call",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
            "json-schema-2020-12-preservation",
        ],
    },
];
