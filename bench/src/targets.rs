//! What we are measured against, each a sub-command so that it runs in a process of its own.

pub(crate) mod axum;
mod envelope;
pub(crate) mod gateway;
pub(crate) mod hyper;
pub(crate) mod list;
pub(crate) mod message;
pub(crate) mod proxy;
pub(crate) mod rmcp;
pub(crate) mod stdio;

use tokio::net::TcpListener;

use crate::fault::Fault;

/// Binds a free port and prints the URL for whoever started this process.
#[expect(clippy::print_stderr, reason = "the parent process reads the URL there")]
async fn listen() -> Result<TcpListener, Fault> {
    let failed = || Fault::machine("listen on 127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed())?;
    let address = listener.local_addr().map_err(failed())?;
    eprintln!("listening on http://{address}/mcp");
    Ok(listener)
}
