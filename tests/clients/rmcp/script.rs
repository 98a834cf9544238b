//! The order of the common script, the same in every language.

use crate::Era;
use crate::peer::Peer;
use crate::steps::{self, Verdict};

const STEPS: [&str; 17] = [
    "list",
    "call",
    "structured",
    "progress",
    "error",
    "validation",
    "resource",
    "subscribe",
    "prompt",
    "completion",
    "elicitation",
    "sampling",
    "roots",
    "logging",
    "cancel",
    "list_changed",
    "ping",
];

/// The steps that an era has, in order.
pub(crate) fn names(era: Era) -> impl Iterator<Item = &'static str> {
    let exists = move |name: &&str| era == Era::Legacy || *name != "ping";
    STEPS.into_iter().filter(exists)
}

/// Plays one step.
pub(crate) async fn run(name: &str, peer: &mut Peer) -> Verdict {
    match name {
        "list" => steps::list(peer).await,
        "call" => steps::call(peer).await,
        "structured" => steps::structured(peer).await,
        "progress" => steps::progress(peer).await,
        "error" => steps::error(peer).await,
        "validation" => steps::validation(peer).await,
        "resource" => steps::resource(peer).await,
        "subscribe" => steps::subscribe(peer).await,
        "prompt" => steps::prompt(peer).await,
        "completion" => steps::completion(peer).await,
        "elicitation" => steps::elicitation(peer).await,
        "sampling" => steps::sampling(peer).await,
        "roots" => steps::roots(peer).await,
        "logging" => steps::logging(peer).await,
        "cancel" => steps::cancel(peer).await,
        "list_changed" => steps::list_changed(peer).await,
        "ping" => peer.ping().await,
        other => unreachable!("{other} is not a step"),
    }
}
