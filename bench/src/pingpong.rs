//! Ping-pong with a living program over the pipes and the runtime that a gateway has: what of a call
//! is the runtime's, before there is a gateway in it.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::client::request::text;
use crate::fault::Fault;
use crate::load::{Caller, drive};
use crate::programs::command;
use crate::window::{Sample, Timing};

/// What to play with.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PingPong {
    #[command(flatten)]
    timing: Timing,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// A program that reads lines and answers each.
struct Player {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Caller for Player {
    async fn call(&mut self, id: u64) -> Result<Duration, Fault> {
        let line = format!("{{\"arguments\":{{\"text\":\"{}\"}}}}\n", text(id));
        let sent = Instant::now();
        let written = self.input.write_all(line.as_bytes()).await;
        written.map_err(Fault::machine("write to a program"))?;
        let answer =
            self.output.next_line().await.map_err(Fault::machine("read from a program"))?;
        let took = sent.elapsed();
        let answer = answer.ok_or(Fault::Closed("its output"))?;
        if answer.contains(&text(id)) { Ok(took) } else { Err(Fault::Answer { id, body: answer }) }
    }
}

/// Plays to the end of the window. The program goes with this.
pub(crate) async fn run(game: &PingPong) -> Result<Sample, Fault> {
    let mut command: Command = command(&game.program[0]).into();
    command.args(&game.program[1..]).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(Fault::machine("start a program"))?;
    let input = child.stdin.take().ok_or(Fault::Closed("its input"))?;
    let output = child.stdout.take().ok_or(Fault::Closed("its output"))?;
    let player = Player { _child: child, input, output: BufReader::new(output).lines() };
    drive(vec![player], std::process::id(), game.timing).await
}
