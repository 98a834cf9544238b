//! What is remembered of a request until it is answered.

use std::sync::Arc;

use gantry_gateway::{CallNotification, Caller};
use gantry_protocol::jsonrpc;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, ResultObject, Revision, compat};

use bytes::Bytes;

/// What is remembered of a request until it is answered.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) id: Id,
    pub(crate) method: Method,
    pub(crate) params: RawJson,
    /// What progress notices carry back.
    pub(crate) token: Option<RawJson>,
    pub(crate) caller: Arc<Caller>,
    /// Whether values are wanted as blocks of type `json`.
    pub(crate) json_content: bool,
    /// What a client of 2025-11-25 that wants a task wants of it.
    pub(crate) task: Option<RawJson>,
}

impl RequestContext {
    /// The result of the call, in the client's revision and with the blocks it asked for.
    pub(crate) fn lower(&self, revision: Revision, result: ResultObject) -> ResultObject {
        if self.task.is_some() {
            return result;
        }
        let related = self.related_task();
        let method = if related.is_some() { &Method::ToolsCall } else { &self.method };
        let blocks = self.json_content && *method == Method::ToolsCall;
        if related.is_none() && !blocks {
            return compat::lower(revision, method, result);
        }
        let lowered = compat::lower_result(revision, method, &result);
        let lowered = match blocks {
            true => compat::with_json_block(&result, &lowered),
            false => lowered,
        };
        match related {
            Some(task) => compat::with_related_task(&lowered, &task).into(),
            None => lowered.into(),
        }
    }

    /// The task that everything said to this request belongs to (2025-11-25).
    pub(crate) fn related_task(&self) -> Option<String> {
        match self.method {
            Method::TasksResult => self.params.get("taskId")?.to_text(),
            _ => None,
        }
    }

    /// The notification that tells the client this, in its revision; none when there is nothing
    /// to tell.
    pub(crate) fn notification(
        &self,
        revision: Revision,
        notification: &CallNotification,
    ) -> Option<Bytes> {
        let (method, params) = match notification {
            CallNotification::Progress(params) => {
                let token = self.token.clone()?;
                (Method::Progress, params.edit().set(key::PROGRESS_TOKEN, token).apply())
            }
            CallNotification::Log(_, params) => (Method::LogMessage, params.clone()),
            CallNotification::HangUp { .. } | CallNotification::Task { .. } => return None,
        };
        let params = compat::lower_notification(revision, &method, &params);
        Some(jsonrpc::notification(method.as_str(), Some(&params)))
    }
}
