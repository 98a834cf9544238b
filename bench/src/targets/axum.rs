//! The same echo by hand on axum: what a handler in a web framework costs.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;

use super::listen;
use super::message::Answers;
use crate::fault::Fault;

/// Serves until the process is ended.
pub(crate) async fn serve() -> Result<(), Fault> {
    let listener = listen().await?.tap_io(|stream| {
        // Without it the kernel holds small answers back.
        let _ = stream.set_nodelay(true);
    });
    let answers = Arc::new(Answers::new(0));
    let route = post(move |body| handle(Arc::clone(&answers), body));
    let router = Router::new().route("/mcp", route);
    axum::serve(listener, router).await.map_err(Fault::machine("serve"))
}

async fn handle(answers: Arc<Answers>, body: Bytes) -> Response {
    match answers.answer(&body) {
        Ok(Some(answer)) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Ok(None) => StatusCode::ACCEPTED.into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}
