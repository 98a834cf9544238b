//! A small native program as a tool: what a call costs beyond starting the program, and beyond a
//! word with one that waits already.

use super::BenchEnv;
use super::contest::{Contest, Pressure, serve};
use crate::fault::Fault;
use crate::folder::Folder;
use crate::goals::{Level, Row};
use crate::report::Report;
use crate::window::Timing;

/// How many processes are kept waiting where any are.
const STANDBY: usize = 4;

/// Long enough for another process to take the place of the one that was called.
const PAUSE: u64 = 10;

const NOTE: &str = "CPU with that of the programs that have ended. With a pause there is time to start the next \
                    program before the next call comes, and both ends take turns on one core; \
                    without one each word wakes another core. A tool answers at the end of its \
                    process unless the row says otherwise. In process: the whole pipeline, with \
                    no transport between the caller and the gateway.";

/// Measures starting a program for each call, and calling one on standby.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let program = bench_env.programs.echo()?;
    let started = Folder::native(&program, 0, "end")?;
    let waiting = Folder::native(&program, STANDBY, "end")?;
    let quick = Folder::native(&program, STANDBY, "line")?;
    let (off, on) = (serve(bench_env, &started)?, serve(bench_env, &waiting)?);
    let flat = Timing { window: bench_env.plan.window / 2, ..bench_env.plan.timing() };
    let pressure = |in_flight| Pressure { in_flight, timing: flat };
    let (alone, crowd) = (pressure(1), pressure(8));
    let paced = Pressure { in_flight: 1, timing: Timing { pace: PAUSE, ..flat } };

    let mut contest = Contest::new(bench_env);
    let line = [program.as_os_str()];
    let bare = contest.started("bare loop, a start for each call", &line, alone);
    let ours = contest.http("gantry over HTTP, no standby", &off, alone);
    contest.started("bare loop, a start for each call", &line, crowd);
    let busy = contest.http("gantry over HTTP, no standby", &off, crowd);
    let words = [program.as_os_str(), "forever".as_ref()];
    contest.living("ping-pong with a living program, one blocking thread", &words, paced);
    let living = contest.living_async("ping-pong with a living program, tokio", &words, alone);
    let rested = contest.living_async("ping-pong with a living program, tokio", &words, paced);
    contest.ahead("bare loop, started ahead, with its end", &line, paced);
    let within = contest.inside("gantry in process, standby, answers with its line", &quick, paced);
    contest.inside("gantry in process, standby", &waiting, paced);
    if bench_env.plan.peers {
        contest.inside("gantry in process, no standby", &started, alone);
        contest.http("gantry over HTTP, standby", &on, paced);
        contest.http("gantry over HTTP, standby", &on, alone);
        contest.http("gantry over HTTP, standby", &on, crowd);
    }
    let results = contest.measure()?;
    report.sections.push(results.section("a native program for each call", NOTE));
    report.figure(Row::NativeStart, results.of(ours).ratio(results.of(bare), |it| it.p50_us));
    let standby = |base| results.of(within).ratio(results.of(base), |it| it.p50_us);
    report.figure(Row::NativeStandby, standby(living));
    report.figure(Row::NativeStandbyPaced, standby(rested));
    report.level(Level::ToolTime, results.of(busy).median(|it| it.p99_us) / 1e3);
    report.level(Level::ToolRate, results.of(busy).median(|it| it.calls_per_second));
    Ok(())
}
