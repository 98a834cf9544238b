//! Both servers, each given the same bytes on a connection of its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gantry::{HandlerAccess, HttpHandler, Server};
use gantry_tests::test_server::soon;
use http::request::Parts;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Understood;

type Record = Arc<Mutex<Vec<Understood>>>;

/// What we did with a stream.
#[derive(Debug)]
pub(super) struct Ours {
    /// The status of each answer, in order.
    pub(super) statuses: Vec<u16>,
    /// Whether the last of them said that the connection ends.
    pub(super) closed: bool,
    /// The requests that were served.
    pub(super) served: Vec<Understood>,
    /// All that we wrote.
    pub(super) text: String,
}

/// What hyper did with a stream.
#[derive(Debug)]
pub(super) struct Theirs(pub(super) Vec<Understood>);

/// Serves everything, and writes down what it was asked.
struct Recorder(Record);

impl HttpHandler for Recorder {
    fn authenticate(&self, _: &Parts) -> Result<HandlerAccess, Box<http::Response<Bytes>>> {
        Ok(HandlerAccess::Authenticated("anyone".into()))
    }

    fn serve(
        &self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = http::Response<Bytes>> + Send>> {
        let (parts, body) = request.into_parts();
        let understood = understood(&parts, Some(body.to_vec()));
        self.0.lock().expect("nobody panics with it").push(understood);
        Box::pin(std::future::ready(http::Response::new(Bytes::new())))
    }
}

fn understood(parts: &Parts, body: Option<Vec<u8>>) -> Understood {
    let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    Understood { method: parts.method.to_string(), target, body }
}

/// Our server, listening.
pub(super) struct Gantry {
    server: Server,
    address: SocketAddr,
    record: Record,
}

impl Gantry {
    pub(super) async fn open() -> Self {
        let record = Record::default();
        let recorder = Arc::new(Recorder(record.clone()));
        let server = Server::new("framing", "1").handler("/", recorder).build();
        let server = server.expect("nothing to register");
        let listening = server.listen("127.0.0.1:0").await.expect("a free port");
        let address = listening.address();
        tokio::spawn(listening.serve());
        Self { server, address, record }
    }

    /// What we do with a stream. `theirs` tells which answers have no body.
    pub(super) async fn read(&self, stream: &[u8], theirs: &Theirs) -> Ours {
        let mut socket = TcpStream::connect(self.address).await.expect("it listens");
        let mut answers = Vec::new();
        let context = async {
            let (mut reader, mut writer) = socket.split();
            let write = async {
                // Who is refused early may be hung up on.
                let _ = writer.write_all(stream).await;
                let _ = writer.shutdown().await;
            };
            let ((), _) = tokio::join!(write, reader.read_to_end(&mut answers));
        };
        soon("the end of the connection", context).await;
        let served = std::mem::take(&mut *self.record.lock().expect("nobody panics with it"));
        let (statuses, closed) = statuses(&answers, theirs);
        Ours { statuses, closed, served, text: String::from_utf8_lossy(&answers).into_owned() }
    }
}

impl Drop for Gantry {
    fn drop(&mut self) {
        self.server.stop();
    }
}

/// The status of each answer but the interim ones, and whether the last one ends the connection.
fn statuses(mut answers: &[u8], theirs: &Theirs) -> (Vec<u16>, bool) {
    let (mut statuses, mut closed) = (Vec::new(), false);
    while let Some(end) = answers.windows(4).position(|it| it == b"\r\n\r\n") {
        let head = std::str::from_utf8(&answers[..end]).expect("our heads are text");
        let status: u16 = head[9..12].parse().expect("a status");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |it| it.parse().expect("a number"));
        let is_head = theirs.0.get(statuses.len()).is_some_and(|it| it.method == "HEAD");
        answers = &answers[end + 4..];
        if status >= 200 {
            statuses.push(status);
            closed = head.contains("\r\nconnection: close");
            answers = &answers[if is_head { 0 } else { length.min(answers.len()) }..];
        }
    }
    (statuses, closed)
}

/// What hyper does with a stream.
pub(super) async fn hyper(stream: &[u8]) -> Theirs {
    let record = Record::default();
    let (mut client, server) = tokio::io::duplex(64 << 10);
    let service = service_fn(|request: http::Request<Incoming>| {
        let record = record.clone();
        async move {
            let (parts, body) = request.into_parts();
            let index = {
                let mut record = record.lock().expect("nobody panics with it");
                record.push(understood(&parts, None));
                record.len() - 1
            };
            if let Ok(body) = body.collect().await {
                let mut record = record.lock().expect("nobody panics with it");
                record[index].body = Some(body.to_bytes().to_vec());
            }
            Ok::<_, Infallible>(http::Response::new(Empty::<Bytes>::new()))
        }
    });
    let serving =
        http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service);
    let speaking = async {
        let (mut reader, mut writer) = tokio::io::split(&mut client);
        let write = async {
            let _ = writer.write_all(stream).await;
            let _ = writer.shutdown().await;
        };
        let mut answers = Vec::new();
        let ((), _) = tokio::join!(write, reader.read_to_end(&mut answers));
    };
    soon("the end of hyper's connection", async { tokio::join!(serving, speaking) }).await.0.ok();
    let understood = std::mem::take(&mut *record.lock().expect("nobody panics with it"));
    Theirs(understood)
}
