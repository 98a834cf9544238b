//! The server under test as a child process: started, asked for its URL, and ended with its owner.

pub(crate) mod usage;

use std::io::{BufRead, BufReader, PipeReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::client::request::Address;
use crate::fault::Fault;

/// How long a server may take to print its URL.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: Address,
    /// When the process was asked for.
    pub(crate) began: Instant,
}

impl Server {
    /// Starts the command and waits for the line that holds its URL, on either output.
    pub(crate) fn start(mut command: Command) -> Result<Self, Fault> {
        let program = command.get_program().to_string_lossy().into_owned();
        let (reader, writer) = std::io::pipe().map_err(Fault::machine("make a pipe"))?;
        let second = writer.try_clone().map_err(Fault::machine("make a pipe"))?;
        command.stdin(Stdio::null()).stdout(second).stderr(writer);
        let began = Instant::now();
        let child = command.spawn().map_err(Fault::machine(format!("start `{program}`")))?;
        // The command holds the writing ends; the reader would never see the end otherwise.
        drop(command);
        let (tx, rx) = mpsc::channel();
        std::thread::spawn(move || drain(reader, &tx));
        // From here on the child must be ended if anything fails.
        let mut server = Self { child, address: nowhere(), began };
        let found = rx.recv_timeout(START_LIMIT).map_err(|_| Fault::Slow("print its URL"))?;
        server.address = found.map_err(|output| Fault::NoUrl { program, output })?;
        Ok(server)
    }

    /// Starts the command, which will listen at the address. Whether it does is for the caller to
    /// find out.
    pub(crate) fn start_at(mut command: Command, address: Address) -> Result<Self, Fault> {
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let child = command.spawn().map_err(Fault::machine(format!("start `{program}`")))?;
        Ok(Self { child, address, began })
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Memory in use now, in bytes.
    pub(crate) fn resident(&self) -> Result<u64, Fault> {
        usage::resident(self.pid())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nowhere() -> Address {
    Address { authority: String::new(), path: String::new() }
}

/// Reports the first URL, then keeps reading so that the server never blocks on a full pipe.
fn drain(reader: PipeReader, found: &mpsc::Sender<Result<Address, String>>) {
    let mut seen = Some(String::new());
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        let Some(text) = &mut seen else { continue };
        if let Some(address) = url(&line) {
            // The receiver waits for exactly one answer and may be gone after it.
            let _ = found.send(Ok(address));
            seen = None;
        } else {
            text.push_str(&line);
            text.push('\n');
        }
    }
    if let Some(text) = seen {
        let _ = found.send(Err(text));
    }
}

/// The first loopback endpoint in a line, which may have words, quotes or colours around it.
fn url(line: &str) -> Option<Address> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let (port, _) = rest.split_once("/mcp")?;
    let port: u16 = port.parse().ok()?;
    format!("http://127.0.0.1:{port}/mcp").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_found_among_words() {
        for (line, expected) in [
            ("listening on http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80/mcp")),
            ("\"url\": \"http://127.0.0.1:80/mcp\",", Some("http://127.0.0.1:80/mcp")),
            ("health at http://127.0.0.1:80/healthz", None),
            ("nothing here", None),
        ] {
            assert_eq!(url(line).map(|address| address.url()).as_deref(), expected);
        }
    }
}
