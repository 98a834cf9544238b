//! The limit for a list: hyper writes bytes that were read from a file at the start.

use std::convert::Infallible;
use std::path::Path;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::{hyper as bare, listen};
use crate::fault::Fault;

/// Serves the file's bytes until the process is ended.
pub(crate) async fn serve(body: &Path) -> Result<(), Fault> {
    let bytes = std::fs::read(body).map_err(Fault::machine(format!("read {}", body.display())))?;
    let bytes = Bytes::from(bytes);
    let listener = listen().await?;
    loop {
        let (stream, _) = listener.accept().await.map_err(Fault::machine("accept"))?;
        // Without it the kernel holds small answers back.
        let _ = stream.set_nodelay(true);
        let bytes = bytes.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| handle(request, bytes.clone()));
            // A connection that breaks is reported by the load generator.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn handle(
    request: Request<Incoming>,
    bytes: Bytes,
) -> Result<hyper::Response<http_body_util::Full<Bytes>>, Infallible> {
    // The request must be read so that the connection can be used again.
    let _ = request.into_body().collect().await;
    Ok(bare::json(bytes))
}
