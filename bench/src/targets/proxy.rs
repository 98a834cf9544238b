//! The limit for a hop over HTTP: hyper's server in front, hyper's client with its pool behind, and
//! the envelope of each message read on its way. No catalogue, no policy, one server.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::envelope::Envelope;
use super::hyper::empty;
use super::listen;
use crate::client::answer::messages;
use crate::client::request::Address;
use crate::fault::Fault;

/// Where messages go.
struct Hop {
    client: Client<HttpConnector, Full<Bytes>>,
    to: Uri,
}

/// Serves until the process is ended.
pub(crate) async fn serve(to: Address) -> Result<(), Fault> {
    let to = to.url().parse().map_err(|_| Fault::Http("a bad URL"))?;
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let (hop, listener) = (Arc::new(Hop { client, to }), listen().await?);
    loop {
        let (stream, _) = listener.accept().await.map_err(Fault::machine("accept"))?;
        tokio::spawn(connection(stream, Arc::clone(&hop)));
    }
}

async fn connection(stream: TcpStream, hop: Arc<Hop>) {
    // Without it the kernel holds small answers back.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| hop.handle(request));
    // A connection that breaks is the client's affair; the load generator reports it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Hop {
    async fn handle(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return Ok(empty(StatusCode::BAD_REQUEST));
        };
        let body = body.to_bytes();
        if !Envelope::read(&body).is_some_and(|envelope| envelope.is_request()) {
            return Ok(empty(StatusCode::BAD_REQUEST));
        }
        let mut onward = Request::from_parts(head, Full::new(body));
        onward.headers_mut().remove(HOST);
        *onward.uri_mut() = self.to.clone();
        Ok(self.pass(onward).await.unwrap_or_else(|| empty(StatusCode::BAD_GATEWAY)))
    }

    async fn pass(&self, request: Request<Full<Bytes>>) -> Option<Response<Full<Bytes>>> {
        let (head, body) = self.client.request(request).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        if !body.is_empty() {
            // A hop has to see that this answers what was asked.
            messages(&body).find_map(|message| Envelope::read(message)?.id)?;
        }
        Some(Response::from_parts(head, Full::new(body)))
    }
}
