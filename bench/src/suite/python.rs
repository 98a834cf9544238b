//! A Python script as a tool: what a call costs beyond the script's own work while an interpreter
//! waits, and against `uv run` when none can.

use std::ffi::OsStr;

use super::BenchEnv;
use super::contest::{Contest, Pressure, serve};
use crate::fault::Fault;
use crate::folder::Folder;
use crate::goals::Row;
use crate::report::Report;
use crate::window::Timing;

/// Long enough for an interpreter to start before the next call comes.
const PAUSE: u64 = 100;

/// What was on standby when the load begins must be used up before the window opens.
const WARM_UP: u64 = 300;

/// Eight starts of `uv` side by side take a quarter of a second on two cores: less would see too few.
const WINDOW: u64 = 700;

const NOTE: &str = "The script has no dependencies and imports `json` and `sys`. With a pause there \
                    is time to start the next interpreter before the next call comes; without one \
                    there is none. A tool answers at the end of its process unless the row says \
                    otherwise.";

/// Measures calls that leave time to refill, and calls that leave none.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let uv = bench_env.programs.uv()?;
    let (without, with) = (Folder::python(false, "end")?, Folder::python(true, "end")?);
    let quick = Folder::python(true, "line")?;
    let (off, on, line_on) =
        (serve(bench_env, &without)?, serve(bench_env, &with)?, serve(bench_env, &quick)?);
    let usual = bench_env.plan.timing();
    let flat = Timing { warm_up: WARM_UP, window: usual.window.max(WINDOW), pace: 0 };
    let pressure = |in_flight| Pressure { in_flight, timing: flat };
    let (alone, crowd) = (pressure(1), pressure(8));
    let paced = Pressure { in_flight: 1, timing: Timing { pace: PAUSE, ..usual } };

    let script = with.script();
    let words = ["run", "--quiet", "--script"].map(OsStr::new);
    let line: Vec<&OsStr> =
        [uv.as_os_str()].into_iter().chain(words).chain([script.as_os_str()]).collect();
    let forever: Vec<&OsStr> = line.iter().copied().chain([OsStr::new("forever")]).collect();
    let mut contest = Contest::new(bench_env);
    let living = contest.living("ping-pong with a living interpreter", &forever, paced);
    let waiting = contest.http("gantry over HTTP, standby, answers with its line", &line_on, paced);
    contest.http("gantry over HTTP, standby", &on, paced);
    let by_hand = contest.started("bare loop, `uv run --script` for each call", &line, crowd);
    let busy = contest.http("gantry over HTTP, standby", &on, crowd);
    if bench_env.plan.peers {
        contest.ahead("bare loop, started ahead, with its end", &line, paced);
        contest.http("gantry over HTTP, no standby", &off, paced);
        contest.http("gantry over HTTP, no standby", &off, crowd);
        contest.started("bare loop, `uv run --script` for each call", &line, alone);
        contest.http("gantry over HTTP, standby", &on, alone);
        contest.http("gantry over HTTP, no standby", &off, alone);
    }
    let results = contest.measure()?;
    report.sections.push(results.section("a Python script for each call", NOTE));
    let above = results.of(waiting).above(results.of(living), |it| it.p50_us);
    report.figure(Row::PythonStandby, above / 1e3);
    // The times of calls fall into two groups when some find a process and some do not, so that
    // neither figure alone is fair.
    let (busy, by_hand) = (results.of(busy), results.of(by_hand));
    report.figure(Row::PythonFlatOut, busy.ratio(by_hand, |it| it.p50_us));
    report.figure(Row::PythonFlatOut, busy.ratio(by_hand, |it| 1.0 / it.calls_per_second));
    Ok(())
}
