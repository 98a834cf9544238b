//! MCP with the running gateway over its control socket, as the local user: its lists, and calls that
//! go through every policy like those of any other client.

use std::sync::Arc;
use std::time::Duration;

use gantry::RawJson;
use gantry_client::{
    Answer, ClientError, Connection, Endpoint, Era, HttpKind, List, Request, RequestHandler,
    Settings, Target, UnixSocket,
};
use http::Uri;
use tokio::sync::mpsc;

use crate::admin_client::{AdminClient, Route};
use crate::exit::{Code, Exit};
use crate::runtime::control_socket;

/// How long the gateway may take to answer the first request.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// How long a call may take. The gateway has a time limit of its own for each tool, which is what
/// normally ends one.
const AT_MOST: Duration = Duration::from_secs(60 * 60);

/// A connection to the running gateway.
pub(crate) struct Session {
    connection: Connection,
    /// Its administration.
    pub(crate) running: AdminClient,
}

impl AdminClient {
    /// Connects as a client. Only over the control socket: a port would need a client's token.
    pub(crate) async fn connect(self) -> Result<Session, Exit> {
        let Route::Control { socket, .. } = &self.0 else {
            return Err(Exit::bug("a gateway at a URL is reached as any other server"));
        };
        let socket = Some(UnixSocket { path: socket.clone(), owner: control_socket::user() });
        let url = Uri::from_static("http://gantry/mcp");
        let target = Target::Http(Endpoint { socket, ..Endpoint::new(url) }, HttpKind::Streamable);
        let settings = Settings {
            era: Era::Modern,
            connect_within: CONNECT_WITHIN,
            silence: AT_MOST,
            at_most: AT_MOST,
            ..Settings::default()
        };
        // Nothing that belongs to no request matters here.
        let (events, _) = mpsc::channel(1);
        let opened = Connection::open(&target, Arc::new(settings), events).await;
        let connection = opened.map_err(|error| self.unreachable(&error.to_string()))?;
        Ok(Session { connection, running: self })
    }
}

impl Session {
    /// The definitions of all tools that the local user sees.
    pub(crate) async fn tools(&self) -> Result<Vec<RawJson>, Exit> {
        let listed =
            self.connection.list(List::Tools).await.map_err(|error| self.failed(&error))?;
        match listed.truncated {
            None => Ok(listed.items),
            Some(why) => {
                Err(Exit::new(Code::Failed, format!("not all tools could be read: {why}")))
            }
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(
        &self,
        request: Request,
        line: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        self.connection.request(request, line).await
    }

    /// Why a request came to nothing.
    pub(crate) fn failed(&self, error: &ClientError) -> Exit {
        let text = format!("the gateway at {}: {error}", self.running.place());
        let code = match error {
            ClientError::Timeout(_) => Code::Timeout,
            ClientError::Answered(_) => Code::Failed,
            _ => Code::Unreachable,
        };
        Exit::new(code, text)
    }
}
