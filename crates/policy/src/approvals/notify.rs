//! Telling somebody far away that a call waits.

use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;

/// Brings letters to who may answer them, such as a webhook.
pub trait ApprovalNotifier: Send + Sync {
    /// Brings a letter: the call that waits, and a token that answers it once. Gives the reply, if
    /// there is one; failures are the messenger's to tell.
    fn bring(&self, letter: RawJson) -> BoxFuture<'_, Option<RawJson>>;
}
