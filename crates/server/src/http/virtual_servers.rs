//! `/mcp/NAME`: the same endpoint for each face.

use std::sync::Arc;

use http::StatusCode;

use super::answer::Answer;
use super::body::Given;
use super::legacy_sse::Mailboxes;
use super::timer::ReusableTimer;
use super::{Head, HttpState, answer, endpoint};
use crate::authenticator::Identity;

/// Where the faces are.
pub(super) const PATH: &str = "/mcp/";

impl HttpState {
    /// Serves the face that the path names.
    pub(super) async fn serve_virtual_server(
        &self,
        identity: &Identity,
        silence: &mut ReusableTimer,
        head: &Head,
        body: Given,
    ) -> Answer {
        let name = unescape(head.path().strip_prefix(PATH).unwrap_or_default());
        let Some(server_state) = self.server_state.find_virtual_server(&name) else {
            return answer::text(StatusCode::NOT_FOUND, self.no_virtual_server(&name));
        };
        let http_state = Self {
            server_state,
            mailboxes: Mailboxes::default(),
            slots: self.slots.clone(),
            budget: self.budget.clone(),
            sending: self.sending.clone(),
            refusals: self.refusals.clone(),
            tasks: self.tasks.clone(),
            address: self.address,
            control: None,
        };
        endpoint::serve(&Arc::new(http_state), identity, silence, head, body).await
    }

    fn no_virtual_server(&self, name: &str) -> String {
        let virtual_servers: Vec<_> =
            self.server_state.virtual_servers().iter().map(|it| format!("{PATH}{it}")).collect();
        match virtual_servers.is_empty() {
            true => format!("no server `{name}` is served here; the MCP endpoint is /mcp\n"),
            false => format!(
                "no server `{name}` is served here; there are {}, and all of them at /mcp\n",
                virtual_servers.join(", ")
            ),
        }
    }
}

/// A part of a path as it was before it was put into a URL. What is no text is left as it is.
fn unescape(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| part.to_owned())
}
