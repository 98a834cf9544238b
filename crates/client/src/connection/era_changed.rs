//! Whether what was agreed on with a server still holds. A server on the web can be replaced by
//! another between two requests, and only a refusal tells.

use gantry_protocol::code;

use super::connection_inner::ConnectionInner;
use super::negotiate::{Verdict, probe};
use crate::error::ClientError;
use crate::settings::Era;

impl ConnectionInner {
    /// What a request has failed with, after the question whether it failed because the server has
    /// become another. `refused` is the HTTP status that it was refused with.
    pub(super) async fn judged(&self, refused: Option<u16>, error: ClientError) -> ClientError {
        if self.holds(refused, &error).await {
            return error;
        }
        self.outdated.cancel();
        ClientError::Outdated(error.to_string())
    }

    async fn holds(&self, refused: Option<u16>, error: &ClientError) -> bool {
        let said = match error {
            ClientError::Answered(error) => Some(error.code),
            ClientError::Http(_) => None,
            _ => return true,
        };
        // Whoever says in the settings which era it is does not want the server to be asked.
        let Some(revision) = self.revision().filter(|_| self.settings.era == Era::Auto) else {
            return true;
        };
        let is_stateless = revision.is_stateless();
        if is_stateless && said == Some(code::UNSUPPORTED_VERSION) {
            return false;
        }
        // A status at which both eras look at no request that is not theirs. What it means is
        // settled by a question: a second run of a tool would be worse than an error.
        if !matches!(refused, Some(400 | 404 | 405 | 406 | 422)) || is_stateless && is_usual(said) {
            return true;
        }
        match probe(self, self.settings.probe_within).await {
            Ok(Verdict::Modern(_)) => is_stateless,
            Ok(Verdict::Handshake) => !is_stateless,
            Ok(Verdict::Silence) | Err(_) => true,
        }
    }
}

/// Whether a server without handshake says this with such a status of its own accord (2026-07-28,
/// Streamable HTTP).
fn is_usual(said: Option<i64>) -> bool {
    let usual = [
        code::METHOD_NOT_FOUND,
        code::INVALID_PARAMS,
        code::HEADER_MISMATCH,
        code::MISSING_CLIENT_CAPABILITY,
    ];
    said.is_some_and(|said| usual.contains(&said))
}
