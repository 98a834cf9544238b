//! What a program costs without us: a bare loop that starts it for each call, ahead of each call, or
//! once, to play ping-pong with it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::client::request::{FIRST_ID, text};
use crate::fault::Fault;
use crate::load::{IDS_PER_CALLER, TIMEOUT};
use crate::programs::command;
use crate::window::{Meter, Sample, Timing, Window};

/// What to start, and how.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ByHand {
    /// Calls in flight, each on a thread of its own.
    #[arg(long, default_value_t = 1)]
    in_flight: u16,
    /// When to start the program.
    #[arg(long, value_enum)]
    start: Start,
    #[command(flatten)]
    timing: Timing,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// When a program is started.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// For each call, when it comes.
    Late,
    /// For each call, before it comes.
    Ahead,
    /// Once for all calls.
    Once,
}

/// Runs the loops to their end. Programs that hang see their input close when this process ends.
pub(crate) fn run(by_hand: &ByHand) -> Result<Sample, Fault> {
    let (timing, window) = (by_hand.timing, Arc::new(Window::default()));
    let (tx, rx) = mpsc::channel();
    for number in 0..by_hand.in_flight {
        let (by_hand, window, tx) = (by_hand.clone(), Arc::clone(&window), tx.clone());
        std::thread::spawn(move || {
            let first = FIRST_ID + u64::from(number) * IDS_PER_CALLER;
            // The receiver is gone only when another loop has failed.
            let _ = tx.send(by_hand.repeat(first, &window));
        });
    }
    std::thread::sleep(timing.warm_up());
    let meter = Meter::start(std::process::id())?;
    window.open();
    std::thread::sleep(timing.window());
    window.close();
    let usage = meter.stop()?;
    window.end();
    let mut times = Vec::new();
    for _ in 0..by_hand.in_flight {
        let ended = rx.recv_timeout(TIMEOUT).map_err(|_| Fault::Slow("answer all lines"))?;
        times.extend(ended?);
    }
    Ok(usage.sample(times))
}

impl ByHand {
    fn repeat(&self, first: u64, window: &Window) -> Result<Vec<Duration>, Fault> {
        let start = || Player::start(self.command());
        let mut waiting = if self.start == Start::Late { None } else { Some(start()?) };
        let mut times = Vec::new();
        for id in first.. {
            let line = format!("{{\"arguments\":{{\"text\":\"{}\"}}}}\n", text(id));
            let sent = Instant::now();
            let mut player = waiting.take().map_or_else(start, Ok)?;
            let answer = player.play(&line)?;
            match self.start {
                Start::Once => waiting = Some(player),
                Start::Late | Start::Ahead => player.end()?,
            }
            let took = sent.elapsed();
            if !answer.contains(&text(id)) {
                return Err(Fault::Answer { id, body: answer });
            }
            if !window.note(&mut times, took) {
                break;
            }
            if self.start == Start::Ahead {
                waiting = Some(start()?);
            }
            if let Some(pace) = self.timing.pace() {
                std::thread::sleep(pace);
            }
        }
        waiting.map_or(Ok(()), Player::end)?;
        Ok(times)
    }

    fn command(&self) -> Command {
        let mut command = command(&self.program[0]);
        command.args(&self.program[1..]);
        command
    }
}

/// A program that reads lines and answers each.
struct Player {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Player {
    fn start(mut command: Command) -> Result<Self, Fault> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(Fault::machine("start a program"))?;
        let input = child.stdin.take().ok_or(Fault::Closed("its input"))?;
        let output = child.stdout.take().ok_or(Fault::Closed("its output"))?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// One line there, one line back.
    fn play(&mut self, line: &str) -> Result<String, Fault> {
        let mut answer = String::new();
        self.input.write_all(line.as_bytes()).map_err(Fault::machine("write to a program"))?;
        self.output.read_line(&mut answer).map_err(Fault::machine("read from a program"))?;
        Ok(answer)
    }

    /// Closes its input and waits for its end.
    fn end(mut self) -> Result<(), Fault> {
        drop(self.input);
        let status = self.child.wait().map_err(Fault::machine("wait for a program"))?;
        if status.success() { Ok(()) } else { Err(Fault::Ended(status.to_string())) }
    }
}
