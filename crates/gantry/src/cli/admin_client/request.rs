//! One HTTP request and its answer, over whatever stream leads to the gateway.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// The most bytes that an answer may have.
pub(super) const LARGEST: usize = 32 * 1024 * 1024;

/// Sends a request, and gives the answer or why there is none.
pub(super) async fn send_request(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), String> {
    let lost = |error: hyper::Error| error.to_string();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(lost)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
    };
    // The connection is driven here, so that it ends with its one answer.
    let driven = async {
        let _ = connection.await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answer = answer => answer,
        never = driven => match never {},
    }
}
