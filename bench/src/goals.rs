//! What must be reached: the ratios of one run, and the service levels promised to users. One line
//! for each; the sections of the suite fill in what they measured.

/// A figure with a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    EchoModernBare,
    EchoLegacyBare,
    EchoModernRmcp,
    EchoLegacyRmcp,
    Tail,
    List,
    HopModern,
    HopLegacy,
    HopModernRmcp,
    HopLegacyRmcp,
    HopDown,
    HopUp,
    HopTail,
    StdioModern,
    StdioLegacy,
    StdioModernRmcp,
    StdioLegacyRmcp,
    ServersList,
    TenServers,
    HundredServers,
    LargeKilobyte,
    LargeHundredKilobytes,
    LargeMegabyte,
    LargeTenMegabytes,
    LargeMemory,
    Bystander,
    PolicyModern,
    PolicyLegacy,
    Start,
    Idle,
    Sessions,
    GetStreams,
    ListenStreams,
    Binary,
    GrowthThousand,
    GrowthTenThousand,
    NativeStart,
    NativeStandby,
    NativeStandbyPaced,
    PythonStandby,
    PythonFlatOut,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Times,
    Milliseconds,
    Megabytes,
}

impl Unit {
    /// The figure with its unit.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value:.2}x"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Megabytes => format!("{value:.1} MB"),
        }
    }
}

/// What a row should reach and must not exceed.
pub(crate) struct Goal {
    pub(crate) row: Row,
    pub(crate) text: &'static str,
    pub(crate) unit: Unit,
    pub(crate) goal: f64,
    pub(crate) limit: f64,
    /// Whether the figure is steady enough to fail a run; times swing too much on a shared machine.
    pub(crate) gate: bool,
}

const fn goal(row: Row, text: &'static str, unit: Unit, goal: f64, limit: f64) -> Goal {
    Goal { row, text, unit, goal, limit, gate: true }
}

const fn shown(row: Row, text: &'static str, unit: Unit, goal: f64, limit: f64) -> Goal {
    Goal { row, text, unit, goal, limit, gate: false }
}

/// All goals, in the order of the report.
#[rustfmt::skip]
pub(crate) const GOALS: &[Goal] = &[
    goal(Row::EchoModernBare, "echo, 2026-07-28: CPU per call against bare hyper", Unit::Times, 1.5, 2.5),
    goal(Row::EchoLegacyBare, "echo, 2025-11-25: CPU per call against bare hyper", Unit::Times, 1.5, 2.5),
    goal(Row::EchoModernRmcp, "echo, 2026-07-28: CPU per call against rmcp", Unit::Times, 0.35, 0.6),
    goal(Row::EchoLegacyRmcp, "echo, 2025-11-25: CPU per call against rmcp", Unit::Times, 0.35, 0.6),
    shown(Row::Tail, "p99 at 64 connections against bare hyper", Unit::Times, 1.3, 2.0),
    goal(Row::List, "`tools/list`, 1,000 tools: CPU per call against writing the bytes", Unit::Times, 1.3, 2.0),
    shown(Row::HopModernRmcp, "hop, HTTP to HTTP, 2026-07-28, to rmcp's server: CPU per call against the bare proxy", Unit::Times, 1.2, 1.5),
    goal(Row::HopModern, "hop, HTTP to HTTP, 2026-07-28, to a bare server: CPU per call against the bare proxy", Unit::Times, 1.2, 1.5),
    shown(Row::HopLegacyRmcp, "hop, HTTP to HTTP, 2025-11-25, to rmcp's server: CPU per call against the bare proxy", Unit::Times, 1.2, 1.5),
    goal(Row::HopLegacy, "hop, HTTP to HTTP, 2025-11-25, to a bare server: CPU per call against the bare proxy", Unit::Times, 1.2, 1.5),
    goal(Row::HopDown, "hop, 2026-07-28 to 2025-11-25: CPU per call against the same-era hop", Unit::Times, 1.15, 1.4),
    goal(Row::HopUp, "hop, 2025-11-25 to 2026-07-28: CPU per call against the same-era hop", Unit::Times, 1.15, 1.4),
    shown(Row::HopTail, "hop, HTTP to HTTP: p99 at 64 connections against the bare proxy", Unit::Times, 1.3, 2.0),
    shown(Row::StdioModernRmcp, "hop, HTTP to stdio, 2026-07-28, to rmcp's program: CPU per call against the bare stdio gateway", Unit::Times, 1.2, 1.5),
    shown(Row::StdioModern, "hop, HTTP to stdio, 2026-07-28, to a bare program: CPU per call against the bare stdio gateway", Unit::Times, 1.2, 1.5),
    shown(Row::StdioLegacyRmcp, "hop, HTTP to stdio, 2025-11-25, to rmcp's program: CPU per call against the bare stdio gateway", Unit::Times, 1.2, 1.5),
    shown(Row::StdioLegacy, "hop, HTTP to stdio, 2025-11-25, to a bare program: CPU per call against the bare stdio gateway", Unit::Times, 1.2, 1.5),
    goal(Row::ServersList, "`tools/list`, 1,000 tools of two servers: CPU per call against writing the bytes", Unit::Times, 1.3, 2.0),
    goal(Row::TenServers, "hop with 10 servers against 1: CPU per call", Unit::Times, 1.1, 1.3),
    goal(Row::HundredServers, "hop with 100 servers against 1: CPU per call", Unit::Times, 1.1, 1.3),
    shown(Row::LargeKilobyte, "hop, results of 1 kB: CPU per byte against the bare proxy", Unit::Times, 1.5, 2.5),
    shown(Row::LargeHundredKilobytes, "hop, results of 100 kB: CPU per byte against the bare proxy", Unit::Times, 1.5, 2.5),
    shown(Row::LargeMegabyte, "hop, results of 1 MB: CPU per byte against the bare proxy", Unit::Times, 1.5, 2.5),
    shown(Row::LargeTenMegabytes, "hop, results of 10 MB: CPU per byte against the bare proxy", Unit::Times, 1.5, 2.5),
    shown(Row::LargeMemory, "hop, a result of 10 MB: peak memory above idle against its size", Unit::Times, 4.0, 8.0),
    shown(Row::Bystander, "p99 of another caller while 30 MB pass", Unit::Milliseconds, 10.0, 50.0),
    shown(Row::PolicyModern, "hop with policy on against off, 2026-07-28: CPU per call", Unit::Times, 1.1, 1.25),
    shown(Row::PolicyLegacy, "hop with policy on against off, 2025-11-25: CPU per call", Unit::Times, 1.1, 1.25),
    shown(Row::Start, "`gantry serve`: start to first answered request", Unit::Milliseconds, 15.0, 30.0),
    goal(Row::Idle, "`gantry serve`: idle RSS", Unit::Megabytes, 12.0, 20.0),
    goal(Row::Sessions, "RSS of 10,000 idle 2025-11-25 sessions, above idle", Unit::Megabytes, 20.0, 60.0),
    goal(Row::GetStreams, "RSS of 1,000 open 2025-11-25 GET streams, above idle", Unit::Megabytes, 20.0, 60.0),
    goal(Row::ListenStreams, "RSS of 1,000 open 2026-07-28 subscriptions, above idle", Unit::Megabytes, 20.0, 60.0),
    goal(Row::Binary, "`gantry`, stripped", Unit::Megabytes, 20.0, 30.0),
    goal(Row::GrowthThousand, "echo with 1,000 tools against 10: CPU per call", Unit::Times, 1.1, 1.3),
    goal(Row::GrowthTenThousand, "echo with 10,000 tools against 10: CPU per call", Unit::Times, 1.1, 1.3),
    shown(Row::NativeStart, "native tool, no standby, over HTTP: p50 against a bare loop that starts it", Unit::Times, 1.15, 1.4),
    shown(Row::NativeStandby, "native tool, standby, `answer: line`, in process, paced: p50 against ping-pong with a living one", Unit::Times, 1.5, 3.0),
    shown(Row::NativeStandbyPaced, "the same against ping-pong with the same pause before each word", Unit::Times, 1.5, 3.0),
    shown(Row::PythonStandby, "Python tool, standby, `answer: line`, over HTTP, paced: p50 above the work in a living interpreter", Unit::Milliseconds, 1.0, 3.0),
    shown(Row::PythonFlatOut, "Python tool, standby, over HTTP, 8 in flight flat out: time per call or p50, the worse, against `uv run`", Unit::Times, 0.5, 0.7),
];

/// A service level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Registration,
    Administration,
    List,
    Lookup,
    Validation,
    Scan,
    StdioTime,
    HttpTime,
    StdioRate,
    HttpRate,
    ToolTime,
    ToolRate,
}

/// On which side of the bound the figure has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// Milliseconds, at most.
    Below(f64),
    /// Calls in a second, at least.
    Above(f64),
}

/// A promise to users, far below what the goals ask for.
pub(crate) struct Promise {
    pub(crate) level: Level,
    pub(crate) text: &'static str,
    pub(crate) bound: Bound,
}

/// All service levels.
#[rustfmt::skip]
pub(crate) const PROMISES: &[Promise] = &[
    Promise { level: Level::Registration, text: "registration of a tool among 1,000, p99", bound: Bound::Below(1.0) },
    Promise { level: Level::Administration, text: "registration over /api/tools among 5,000, p99", bound: Bound::Below(1.0) },
    Promise { level: Level::List, text: "list of 1,000 tools, p99, one connection", bound: Bound::Below(5.0) },
    Promise { level: Level::Lookup, text: "look-up of a schema among 1,000 tools, p99", bound: Bound::Below(1.0) },
    Promise { level: Level::Validation, text: "validation of arguments, p99", bound: Bound::Below(1.0) },
    Promise { level: Level::Scan, text: "start with a folder of 5,000 tools to the first list", bound: Bound::Below(2000.0) },
    Promise { level: Level::StdioTime, text: "dispatch over stdio, p99", bound: Bound::Below(10.0) },
    Promise { level: Level::HttpTime, text: "dispatch over HTTP, p99, 16 connections", bound: Bound::Below(100.0) },
    Promise { level: Level::StdioRate, text: "calls over stdio, one at a time", bound: Bound::Above(1000.0) },
    Promise { level: Level::HttpRate, text: "calls over HTTP, 16 connections", bound: Bound::Above(100.0) },
    Promise { level: Level::ToolTime, text: "dispatch of a native tool over HTTP, p99, 8 in flight", bound: Bound::Below(100.0) },
    Promise { level: Level::ToolRate, text: "calls of a native tool over HTTP, 8 in flight", bound: Bound::Above(100.0) },
];

impl Bound {
    /// Whether the figure keeps the promise.
    pub(crate) fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(bound) => value < bound,
            Self::Above(bound) => value >= bound,
        }
    }

    /// The bound itself, in words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Below(bound) => format!("< {bound} ms"),
            Self::Above(bound) => format!("{bound}+ calls/s"),
        }
    }

    /// A figure in the bound's unit.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::Below(_) if value < 0.1 => format!("{:.1} us", value * 1e3),
            Self::Below(_) => format!("{value:.2} ms"),
            Self::Above(_) => format!("{value:.0} calls/s"),
        }
    }
}
