//! The limit for a hop to a program: hyper in front, the pipes of one child behind, and answers given
//! to whoever asked by their id. No catalogue, no policy, ids as they come.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ffi::OsString;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

use super::envelope::Envelope;
use super::hyper::{empty, json};
use super::listen;
use crate::fault::Fault;
use crate::programs::command;

/// How many messages may wait for the pipe.
const QUEUE: usize = 256;

/// The way to the child, and who waits for its answers.
struct Bridge {
    lines: mpsc::Sender<Bytes>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Bytes>>>,
}

/// Serves until the process is ended; the child ends with its input.
pub(crate) async fn serve(program: &[OsString]) -> Result<(), Fault> {
    let mut command: Command = command(&program[0]).into();
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(Fault::machine("start a program"))?;
    let input = child.stdin.take().ok_or(Fault::Closed("its input"))?;
    let output = child.stdout.take().ok_or(Fault::Closed("its output"))?;
    let (lines, queue) = mpsc::channel(QUEUE);
    let bridge = Arc::new(Bridge { lines, waiting: Mutex::default() });
    tokio::spawn(write(input, queue));
    tokio::spawn(read(output, Arc::clone(&bridge)));
    let listener = listen().await?;
    loop {
        let (stream, _) = listener.accept().await.map_err(Fault::machine("accept"))?;
        tokio::spawn(connection(stream, Arc::clone(&bridge)));
    }
}

/// Writes what waits together, as far as it waits.
async fn write(mut input: ChildStdin, mut queue: mpsc::Receiver<Bytes>) {
    let (mut waiting, mut batch) = (Vec::new(), Vec::new());
    while queue.recv_many(&mut waiting, QUEUE).await > 0 {
        for line in waiting.drain(..) {
            batch.extend_from_slice(&line);
            batch.push(b'\n');
        }
        if input.write_all(&batch).await.is_err() {
            return;
        }
        batch.clear();
    }
}

async fn read(output: ChildStdout, bridge: Arc<Bridge>) {
    let (mut output, mut line) = (BufReader::with_capacity(64 * 1024, output), Vec::new());
    while output.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
        let answer = Bytes::copy_from_slice(line.trim_ascii_end());
        let id = Envelope::read(&answer).and_then(|envelope| envelope.id);
        if let Some(asker) = id.and_then(|id| bridge.waiting().remove(&id)) {
            // Whoever asked may have gone.
            let _ = asker.send(answer);
        }
        line.clear();
    }
}

async fn connection(stream: TcpStream, bridge: Arc<Bridge>) {
    // Without it the kernel holds small answers back.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| bridge.handle(request));
    // A connection that breaks is the client's affair; the load generator reports it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Bridge {
    async fn handle(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let Ok(body) = request.into_body().collect().await else {
            return Ok(empty(StatusCode::BAD_REQUEST));
        };
        let body = body.to_bytes();
        let read = Envelope::read(&body).filter(Envelope::is_request).map(|it| it.id);
        let answer = match read {
            None => return Ok(empty(StatusCode::BAD_REQUEST)),
            Some(None) => {
                let sent = self.lines.send(body).await.is_ok();
                let status = if sent { StatusCode::ACCEPTED } else { StatusCode::BAD_GATEWAY };
                return Ok(empty(status));
            }
            Some(Some(id)) => self.ask(id, body).await,
        };
        Ok(answer.map_or_else(|| empty(StatusCode::BAD_GATEWAY), json))
    }

    async fn ask(&self, id: u64, body: Bytes) -> Option<Bytes> {
        let (tx, rx) = oneshot::channel();
        self.waiting().insert(id, tx);
        self.lines.send(body).await.ok()?;
        rx.await.ok()
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Bytes>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
