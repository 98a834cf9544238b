//! The stdio transport: one client on standard input and output, one message per line.
//!
//! Both streams have a thread of their own: a read of standard input cannot be cancelled, and a
//! runtime that waits for it cannot shut down.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use gantry_protocol::RpcError;
use gantry_transport::lines::{LineDecoder, LineTooLong, to_line};
use tokio::sync::{mpsc, oneshot};

use crate::duplex;
use crate::duplex::Inbound;
use crate::server_state::ServerState;

type Line = Result<Bytes, LineTooLong>;

/// Messages queued in either direction.
const QUEUE_LENGTH: usize = 64;
/// Bytes per read.
const CHUNK: usize = 64 * 1024;

/// Serves one client on standard input and output until it closes them.
pub async fn serve_stdio(server_state: Arc<ServerState>) -> std::io::Result<()> {
    let limit = server_state.settings.message.size;
    let (lines, inbound) = mpsc::channel(QUEUE_LENGTH);
    let (out, messages) = mpsc::channel(QUEUE_LENGTH);
    let (written, all_written) = oneshot::channel();
    thread::Builder::new().name("gantry-stdin".to_owned()).spawn(move || {
        read(std::io::stdin().lock(), limit, &lines);
    })?;
    thread::Builder::new().name("gantry-stdout".to_owned()).spawn(move || {
        let _ = written.send(write(messages, std::io::stdout().lock()));
    })?;
    let (local, linger) = (server_state.local.clone(), server_state.settings.linger);
    duplex::serve(server_state, &local, Lines(inbound), out).await;
    // A client that does not read must not keep the program from ending.
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

/// Reads lines until the input ends or the connection is closed.
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
                tracing::warn!(%error, "cannot read standard input");
                break;
            }
        }
    }
    if let Some(line) = decoder.finish() {
        let _ = lines.blocking_send(line);
    }
}

/// Writes messages as they come, and flushes when the queue is empty.
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
