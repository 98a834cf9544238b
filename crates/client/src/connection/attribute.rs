//! Which call a question belongs to, where the line does not say it.

use std::sync::Arc;

use bytes::Bytes;
use gantry_protocol::meta::key;
use gantry_protocol::{Method, RpcError, code, jsonrpc};

use super::connection_inner::ConnectionInner;
use super::mailbox::ServerRequest;
use super::pending_requests::Call;

impl ConnectionInner {
    /// The call that a question belongs to, or what to reply when none can be found.
    pub(super) fn attribute(&self, asked: &ServerRequest) -> Result<Arc<Call>, Bytes> {
        let candidates = self.pending_requests.candidates();
        match self.choose(asked, &candidates) {
            Some(call) => {
                self.pending_requests.learn_asker(&call.about);
                Ok(call)
            }
            None if candidates.is_empty() => Err(self.outside(asked)),
            None => {
                self.pending_requests.set_alone(&candidates);
                let text = format!(
                    "{} calls are under way and nothing says which of them asks; their tools run one at a time from now on, so call again",
                    candidates.len()
                );
                Err(refuse(asked, code::INTERNAL_ERROR, &text))
            }
        }
    }

    fn choose(&self, asked: &ServerRequest, candidates: &[Arc<Call>]) -> Option<Arc<Call>> {
        let task = asked
            .params
            .as_ref()
            .and_then(|params| params.at(&[key::META, key::RELATED_TASK, "taskId"])?.to_text());
        if task.is_some() {
            let of_task =
                |call: &&Arc<Call>| call.about.is_task_result() && call.about.name == task;
            return candidates.iter().rfind(of_task).cloned();
        }
        if let [only] = candidates {
            return Some(only.clone());
        }
        // Nothing below is certain, and a wrong guess between two people would show one of them
        // what the other's call asks, and run that call with the wrong answer.
        let latest = candidates.last()?;
        let identity = &latest.about.identity;
        if identity.is_empty() || !candidates.iter().all(|it| it.about.identity == *identity) {
            return None;
        }
        let mut askers =
            candidates.iter().filter(|call| self.pending_requests.is_asker(&call.about));
        match (askers.next(), askers.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => Some(latest.clone()),
        }
    }

    /// The reply to a question that comes outside of any call.
    fn outside(&self, asked: &ServerRequest) -> Bytes {
        match (&asked.method, &self.settings.roots) {
            (Method::RootsList, Some(roots)) => jsonrpc::result(&asked.id, roots).into_bytes(),
            (Method::RootsList, None) => {
                refuse(asked, code::METHOD_NOT_FOUND, "no roots are known outside of a call")
            }
            _ => refuse(
                asked,
                code::INVALID_REQUEST,
                "nobody can be asked outside of a call; ask while one is under way",
            ),
        }
    }
}

fn refuse(asked: &ServerRequest, code: i64, text: &str) -> Bytes {
    jsonrpc::error(&asked.id, &RpcError::new(code, text)).into_bytes()
}
