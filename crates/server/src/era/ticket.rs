//! What is remembered of a request until it is answered.

use std::sync::Arc;

use gantry_gateway::{Caller, Notice};
use gantry_protocol::jsonrpc;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, Revision, wire};

use bytes::Bytes;

/// What is remembered of a request until it is answered.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) id: Id,
    pub(crate) method: Method,
    pub(crate) params: RawJson,
    /// What progress notices carry back.
    pub(crate) token: Option<RawJson>,
    pub(crate) caller: Arc<Caller>,
    /// Whether values are wanted as blocks of type `json`.
    pub(crate) json_content: bool,
}

impl Ticket {
    /// The result of the call, in the client's revision and with the blocks it asked for.
    pub(crate) fn lower(&self, revision: Revision, result: &RawJson) -> RawJson {
        let lowered = wire::lower_result(revision, &self.method, result);
        match self.json_content && self.method == Method::ToolsCall {
            true => wire::with_json_block(result, &lowered),
            false => lowered,
        }
    }

    /// The notification that tells the client this, in its revision; none when there is nothing
    /// to tell.
    pub(crate) fn notification(&self, revision: Revision, notice: &Notice) -> Option<Bytes> {
        let (method, params) = match notice {
            Notice::Progress(params) => {
                let token = self.token.clone()?;
                (Method::Progress, params.edit().set(key::PROGRESS_TOKEN, token).apply())
            }
            Notice::Log(_, params) => (Method::LogMessage, params.clone()),
            Notice::HangUp { .. } => return None,
        };
        let params = wire::lower_notification(revision, &method, &params);
        Some(jsonrpc::notification(method.as_str(), Some(&params)))
    }
}
