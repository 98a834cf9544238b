//! The stdio door: one client on standard input and output, one message a line.
//!
//! Both streams get a thread of their own. A read of standard input cannot be given up, and a
//! runtime that waited for it could not end.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use gantry_protocol::RpcError;
use gantry_transport::lines::{LineDecoder, LineTooLong, to_line};
use tokio::sync::{mpsc, oneshot};

use crate::duplex::{self, Inbound};
use crate::server_state::ServerState;

type Line = Result<Bytes, LineTooLong>;

/// Messages that may wait on either side.
const WAITING: usize = 64;
/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Serves one client on standard input and output until it is done.
pub async fn serve_stdio(server_state: Arc<ServerState>) -> std::io::Result<()> {
    let limit = server_state.settings.message.size;
    let (lines, inbound) = mpsc::channel(WAITING);
    let (out, messages) = mpsc::channel(WAITING);
    let (written, all_written) = oneshot::channel();
    thread::Builder::new().name("gantry-stdin".to_owned()).spawn(move || {
        read(std::io::stdin().lock(), limit, &lines);
    })?;
    thread::Builder::new().name("gantry-stdout".to_owned()).spawn(move || {
        let _ = written.send(write(messages, std::io::stdout().lock()));
    })?;
    let (local, linger) = (server_state.local.clone(), server_state.settings.linger);
    duplex::serve(server_state, &local, Lines(inbound), out).await;
    // A client that reads nothing must not keep the program from ending.
    let written = tokio::time::timeout(linger, all_written).await;
    written.map_or(Ok(()), |written| written.unwrap_or(Ok(())))
}

struct Lines(mpsc::Receiver<Line>);

impl Inbound for Lines {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        let line = self.0.recv().await?;
        Some(line.map_err(|error| RpcError::parse_error(error.to_string())))
    }
}

/// Reads lines until the input ends or nobody takes them.
fn read(mut input: impl Read, limit: usize, lines: &mpsc::Sender<Line>) {
    let mut decoder = LineDecoder::new(limit);
    let mut chunk = vec![0; CHUNK];
    loop {
        while let Some(line) = decoder.next_line() {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
        match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => decoder.feed(&chunk[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "standard input failed");
                break;
            }
        }
    }
    if let Some(line) = decoder.finish() {
        let _ = lines.blocking_send(line);
    }
}

/// Writes messages as they come, and flushes when there is none to follow at once.
fn write(mut messages: mpsc::Receiver<Bytes>, mut output: impl Write) -> std::io::Result<()> {
    while let Some(message) = messages.blocking_recv() {
        output.write_all(&to_line(&message))?;
        while let Ok(message) = messages.try_recv() {
            output.write_all(&to_line(&message))?;
        }
        output.flush()?;
    }
    Ok(())
}
