//! Measures Gantry beside bare servers and peers, in one run and on one machine. `run` is the whole
//! suite; the other verbs are the processes it starts.

mod by_hand;
mod client;
mod fault;
mod folder;
mod gate;
mod goals;
mod inside;
mod load;
mod peers;
mod pingpong;
mod plot;
mod process;
mod programs;
mod report;
mod rounds;
mod suite;
mod targets;
mod window;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use client::request::Address;
use fault::Fault;
use programs::{Programs, root};
use report::Report;
use rounds::Plan;
use suite::{BenchEnv, Part};
use window::Sample;

#[derive(Parser)]
#[command(
    about = "Measure Gantry beside bare servers and peers",
    args_conflicts_with_subcommands = true
)]
struct Line {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum Verb {
    /// The whole suite; the default.
    Run(Run),
    /// One window of load against a server; prints a sample as JSON.
    Load(load::Load),
    /// One window of calls to the tools of a folder, with the gateway in this process.
    Inside(inside::Inside),
    /// One window of lines to a program, without a gateway.
    ByHand(by_hand::ByHand),
    /// One window of lines to a living program, over the runtime that a gateway has.
    PingPong(pingpong::PingPong),
    /// Echo on hyper by hand, a whole server in either era.
    BareHyper {
        /// How many tools there are beside `echo`.
        #[arg(long, default_value_t = 0)]
        more_tools: usize,
        /// How many bytes an echo carries beside its text.
        #[arg(long, default_value_t = 0)]
        payload: usize,
    },
    /// A hop to another HTTP server by hand.
    BareProxy {
        /// The server behind it.
        #[arg(long)]
        to: Address,
    },
    /// A hop from HTTP to a program over stdio by hand.
    BareGateway {
        /// The program and its arguments.
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
    /// Echo on axum by hand.
    BareAxum,
    /// Echo on rmcp.
    Rmcp {
        /// Over standard input and output.
        #[arg(long)]
        stdio: bool,
    },
    /// A fixed `tools/list` answer on hyper.
    BareList {
        /// The file that holds the answer.
        #[arg(long)]
        body: PathBuf,
    },
    /// Echo over stdio by hand.
    BareStdio,
}

#[derive(Args)]
struct Run {
    /// Some two minutes; exits 1 when a limit is exceeded three times in a row; writes no files.
    #[arg(long)]
    quick: bool,
    /// The optimized build of the example `everything`.
    #[arg(long)]
    everything: Option<PathBuf>,
    /// The optimized build of `gantry`.
    #[arg(long)]
    gantry: Option<PathBuf>,
    /// Where `uv` is; looked for on `PATH` if not given.
    #[arg(long)]
    uv: Option<PathBuf>,
    /// Where `cargo xtask provision` has put the peers.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Only the sections whose name contains this; writes no files and fails no run.
    #[arg(long)]
    only: Option<String>,
    /// Where the full run writes `results.md` and `echo.svg`; `docs/benchmarks` if not given.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[expect(clippy::print_stderr, reason = "progress and failures of a program for a terminal")]
fn main() -> ExitCode {
    let line = Line::parse();
    match line.verb.unwrap_or(Verb::Run(line.run)).execute() {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("gantry-bench: {fault}");
            ExitCode::FAILURE
        }
    }
}

impl Verb {
    fn execute(self) -> Result<ExitCode, Fault> {
        match self {
            Self::Run(run) => return run.execute(),
            Self::Load(load) => print(&one_thread()?.block_on(load::run(&load))?)?,
            Self::Inside(inside) => print(&many_threads()?.block_on(inside::run(&inside))?)?,
            Self::ByHand(by_hand) => print(&by_hand::run(&by_hand)?)?,
            Self::PingPong(game) => print(&many_threads()?.block_on(pingpong::run(&game))?)?,
            Self::BareHyper { more_tools, payload } => {
                let answers = targets::message::Answers::new(more_tools).payload(payload);
                many_threads()?.block_on(targets::hyper::serve(answers))?;
            }
            Self::BareProxy { to } => many_threads()?.block_on(targets::proxy::serve(to))?,
            Self::BareGateway { program } => {
                many_threads()?.block_on(targets::gateway::serve(&program))?;
            }
            Self::BareAxum => many_threads()?.block_on(targets::axum::serve())?,
            Self::Rmcp { stdio: false } => many_threads()?.block_on(targets::rmcp::serve())?,
            Self::Rmcp { stdio: true } => many_threads()?.block_on(targets::rmcp::serve_stdio())?,
            Self::BareList { body } => many_threads()?.block_on(targets::list::serve(&body))?,
            Self::BareStdio => targets::stdio::serve()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn execute(self) -> Result<ExitCode, Fault> {
        let plan = if self.quick { Plan::QUICK } else { Plan::FULL };
        let programs = Programs::find(self.everything, self.gantry, self.uv, self.peers)?;
        let bench_env = BenchEnv { programs, plan, runtime: one_thread()? };
        if let Some(name) = &self.only {
            measure(&bench_env, |part| part.name.contains(name));
            return Ok(ExitCode::SUCCESS);
        }
        if self.quick {
            let broken = gate::broken(|is_wanted| measure(&bench_env, is_wanted));
            return Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let folder = self.out.unwrap_or_else(|| root().join("docs/benchmarks"));
        write(&measure(&bench_env, |_| true), &folder)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the report is the output")]
fn measure(bench_env: &BenchEnv, is_wanted: impl Fn(&Part) -> bool) -> Report {
    let report = suite::run(bench_env, is_wanted, |name| eprintln!("measuring {name}"));
    println!("{}", report.markdown());
    report
}

#[expect(clippy::print_stdout, reason = "the process that started this one reads the sample")]
fn print(sample: &Sample) -> Result<(), Fault> {
    println!("{}", serde_json::to_string(sample).map_err(|error| Fault::Load(error.to_string()))?);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "progress of a program for a terminal")]
fn write(report: &Report, folder: &Path) -> Result<(), Fault> {
    let failed = || Fault::machine(format!("write to {}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed())?;
    let text = format!("# Benchmarks\n\n{}{}", machine(), report.markdown());
    std::fs::write(folder.join("results.md"), text).map_err(failed())?;
    std::fs::write(folder.join("echo.svg"), plot::svg(&report.bars)).map_err(failed())?;
    eprintln!("wrote {0}/results.md and {0}/echo.svg", folder.display());
    Ok(())
}

/// What the figures were taken on; only those of one run may be compared.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, name)| name);
    format!(
        "Written by `cargo xtask bench`. Loopback, {cores} cores ({model}) shared by load generator \
         and server. Compare figures within this run only.\n\n\
         ![CPU time per echo call](echo.svg)\n\n"
    )
}

fn many_threads() -> Result<Runtime, Fault> {
    Builder::new_multi_thread().enable_all().build().map_err(Fault::machine("start a runtime"))
}

fn one_thread() -> Result<Runtime, Fault> {
    Builder::new_current_thread().enable_all().build().map_err(Fault::machine("start a runtime"))
}
