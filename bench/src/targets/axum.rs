//! The same echo by hand on axum: what a handler in a web framework costs.

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;

use super::{listen, message};
use crate::fault::Fault;

/// Serves until the process is ended.
pub(crate) async fn serve() -> Result<(), Fault> {
    let listener = listen().await?.tap_io(|stream| {
        // Without it the kernel holds small answers back.
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new().route("/mcp", post(handle));
    axum::serve(listener, router).await.map_err(Fault::machine("serve"))
}

async fn handle(body: Bytes) -> Response {
    match message::answer(&body) {
        Ok(Some(answer)) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Ok(None) => StatusCode::ACCEPTED.into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}
