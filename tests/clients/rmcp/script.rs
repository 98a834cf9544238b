//! The order of the common script, the same in every language.

use crate::Era;
use crate::peer::Peer;
use crate::peers;
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

/// The steps to play, in order: those that an era has, or another script if GANTRY_SCRIPT names one.
pub(crate) fn names(era: Era) -> Vec<&'static str> {
    if std::env::var("GANTRY_SCRIPT").is_ok_and(|script| script == "peers") {
        return peers::STEPS.to_vec();
    }
    let exists = move |name: &&str| era == Era::Legacy || *name != "ping";
    STEPS.into_iter().filter(exists).collect()
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
        "peers: list" => peers::list(peer).await,
        "peers: call" => peers::call(peer).await,
        "peers: progress" => peers::progress(peer).await,
        "peers: question" => peers::question(peer).await,
        other => unreachable!("{other} is not a step"),
    }
}
