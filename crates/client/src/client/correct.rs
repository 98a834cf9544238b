//! Calls that repeat their arguments in the wrong headers: what a tool wants repeated stands in its
//! definition, and may have changed since it was listed.

use gantry_protocol::{Method, RawJson, code, headers};

use super::Client;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::{ChangedList, Event};
use crate::peer::Peer;
use crate::request::{List, Request};

/// Whether a call was refused for its headers, before anything was run (2026-07-28, Streamable
/// HTTP). To older servers the code may mean anything.
pub(super) fn is_mismatch(peer: &Peer, request: &Request, error: &ClientError) -> bool {
    let ClientError::Answered(error) = error else { return false };
    error.code == code::HEADER_MISMATCH
        && request.method == Method::ToolsCall
        && peer.revision.is_stateless()
}

impl Client {
    /// The same call with the headers that its tool wants by now; none if it had those already.
    pub(super) async fn corrected(
        &self,
        request: &Request,
        connection: &Connection,
    ) -> Option<Request> {
        let name = request.params.get("name")?.to_text()?;
        // What is kept is what the call was made by.
        self.forget(List::Tools);
        let listed = self.list(List::Tools).await.ok()?;
        let named = |tool: &RawJson| tool.get("name").and_then(|name| name.to_text());
        let tool = listed.items.iter().find(|tool| named(tool).as_deref() == Some(&name))?;
        let wanted = headers::argument_headers(&tool.get("inputSchema")?).ok()?;
        if *wanted == *request.headers {
            return None;
        }
        // Others go by the old list too.
        connection.tell(Event::ListChanged(ChangedList::Tools));
        Some(Request { headers: wanted.into(), ..request.clone() })
    }
}
