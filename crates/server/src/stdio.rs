//! The stdio door: one client on standard input and output, one message a line.

use std::sync::Arc;

use bytes::Bytes;
use gantry_protocol::RpcError;
use gantry_transport::lines::{LineReader, to_line};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::duplex::{self, Inbound};
use crate::lobby::Lobby;

/// Messages that may wait for a client that is slow to read.
const WAITING: usize = 64;

/// Serves one client on standard input and output until it is done.
pub async fn serve_stdio(lobby: Arc<Lobby>) -> std::io::Result<()> {
    serve(lobby, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves one client on any pair of streams.
pub(crate) async fn serve(
    lobby: Arc<Lobby>,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (out, messages) = mpsc::channel(WAITING);
    let writer = lobby.tasks.spawn(write(messages, output));
    let limit = lobby.settings.message.size;
    let inbound = Lines(LineReader::new(input, limit));
    let local = lobby.local.clone();
    duplex::serve(lobby, local, inbound, out).await;
    writer.await.unwrap_or(Ok(()))
}

struct Lines<R>(LineReader<R>);

impl<R: AsyncRead + Unpin + Send> Inbound for Lines<R> {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        match self.0.next().await {
            Ok(line) => {
                line.map(|line| line.map_err(|error| RpcError::parse_error(error.to_string())))
            }
            Err(error) => {
                tracing::warn!(%error, "standard input failed");
                None
            }
        }
    }
}

/// Writes messages as they come, and flushes when there is none to follow at once.
async fn write(
    mut messages: mpsc::Receiver<Bytes>,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    while let Some(message) = messages.recv().await {
        output.write_all(&to_line(&message)).await?;
        while let Ok(message) = messages.try_recv() {
            output.write_all(&to_line(&message)).await?;
        }
        output.flush().await?;
    }
    Ok(())
}
