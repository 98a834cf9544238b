//! The gateway inside this process: calls reach the tools of a folder through the whole pipeline,
//! with no transport between.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gantry::{Link, Server, ToolSettings, Tools};

use crate::client::answer;
use crate::client::request::{Era, Request, Work};
use crate::fault::Fault;
use crate::load::{Caller, drive};
use crate::window::{Sample, Timing};

/// Which tools to call.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Inside {
    /// The folder of tools.
    #[arg(long)]
    tools: PathBuf,
    /// Calls in flight, each on a link of its own.
    #[arg(long, default_value_t = 1)]
    in_flight: u16,
    #[command(flatten)]
    timing: Timing,
}

/// A caller without a transport.
struct Within {
    link: Link,
    request: Request,
}

impl Caller for Within {
    async fn call(&mut self, id: u64) -> Result<Duration, Fault> {
        self.request.number(id);
        let message = Bytes::copy_from_slice(self.request.bytes().trim_ascii_end());
        let sent = Instant::now();
        let taken = self.link.send(message).await;
        let answer = if taken { self.link.receive().await } else { None };
        let took = sent.elapsed();
        let answer = answer.ok_or(Fault::Closed("its link"))?;
        answer::check(&answer, Work::Tool, id)?;
        Ok(took)
    }
}

/// Serves the folder as `gantry serve` does and calls its tool.
pub(crate) async fn run(inside: &Inside) -> Result<Sample, Fault> {
    let tools = Tools::open(vec![inside.tools.clone()], ToolSettings::default());
    let watched = tools.clone();
    tokio::spawn(async move { watched.watch().await });
    let built = Server::new("gantry-bench", "1.0.0").tools(tools).build();
    let server = built.map_err(|error| Fault::Tools(error.to_string()))?;
    let caller =
        |_| Within { link: server.connect(), request: Request::line(Era::Modern, Work::Tool) };
    let callers = (0..inside.in_flight).map(caller).collect();
    drive(callers, std::process::id(), inside.timing).await
}
