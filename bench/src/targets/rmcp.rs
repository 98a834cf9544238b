//! The same echo on rmcp's server: one tool made with its macros, its own session manager. Answers
//! 2026-07-28 without sessions and in JSON, 2025-11-25 with sessions, as it does by default. Over
//! stdio it is a program behind a hop.

use axum::Router;
use axum::serve::ListenerExt;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

use super::listen;
use crate::fault::Fault;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    text: String,
}

#[derive(Clone)]
struct Echo;

#[tool_router]
impl Echo {
    #[tool(description = "Returns the text it was given")]
    fn echo(&self, Parameters(Arguments { text }): Parameters<Arguments>) -> String {
        text
    }
}

#[tool_handler]
impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

/// Serves until the process is ended.
pub(crate) async fn serve() -> Result<(), Fault> {
    let listener = listen().await?.tap_io(|stream| {
        // Without it the kernel holds small answers back.
        let _ = stream.set_nodelay(true);
    });
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let service: StreamableHttpService<Echo, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Echo), std::sync::Arc::default(), config);
    let router = Router::new().nest_service("/mcp", service);
    axum::serve(listener, router).await.map_err(Fault::machine("serve"))
}

/// Serves one client on standard input and output until it ends.
pub(crate) async fn serve_stdio() -> Result<(), Fault> {
    let failed = |_| Fault::Closed("its standard streams");
    let serving = Echo.serve(rmcp::transport::stdio()).await.map_err(failed)?;
    serving.waiting().await.map_err(|_| Fault::Closed("its standard streams"))?;
    Ok(())
}
