//! The limit for a server: hyper and `serde_json`, no checks, no catalogue, no policy.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::listen;
use super::message::Answers;
use crate::fault::Fault;

/// Serves until the process is ended.
pub(crate) async fn serve(answers: Answers) -> Result<(), Fault> {
    let (listener, answers) = (listen().await?, Arc::new(answers));
    loop {
        let (stream, _) = listener.accept().await.map_err(Fault::machine("accept"))?;
        tokio::spawn(connection(stream, Arc::clone(&answers)));
    }
}

async fn connection(stream: TcpStream, answers: Arc<Answers>) {
    // Without it the kernel holds small answers back.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| handle(request, &answers));
    // A connection that breaks is the client's affair; the load generator reports it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn handle(
    request: Request<Incoming>,
    answers: &Answers,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // There is no stream to listen to, and no session to end.
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    Ok(match answers.answer(&body.to_bytes()) {
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

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
