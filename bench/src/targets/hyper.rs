//! The limit for a server: hyper and `serde_json`, no checks, no catalogue, no policy.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{listen, message};
use crate::fault::Fault;

/// Serves until the process is ended.
pub(crate) async fn serve() -> Result<(), Fault> {
    let listener = listen().await?;
    loop {
        let (stream, _) = listener.accept().await.map_err(Fault::machine("accept"))?;
        tokio::spawn(connection(stream));
    }
}

async fn connection(stream: TcpStream) {
    // Without it the kernel holds small answers back.
    let _ = stream.set_nodelay(true);
    // A connection that breaks is the client's affair; the load generator reports it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(handle)).await;
}

async fn handle(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    Ok(match message::answer(&body.to_bytes()) {
        Ok(Some(answer)) => json(answer.into()),
        Ok(None) => empty(StatusCode::ACCEPTED),
        Err(_) => empty(StatusCode::BAD_REQUEST),
    })
}

/// A JSON answer.
pub(crate) fn json(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let kind = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
