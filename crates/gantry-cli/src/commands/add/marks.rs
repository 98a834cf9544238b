//! What the tools of servers that were added may do, reported as soon as a running gateway knows.

use std::time::{Duration, Instant};

use gantry::RawJson;

use crate::admin_client::AdminClient;
use crate::render;

/// How long the servers may take to list their tools before a hint is printed instead. A first
/// `npx` takes longer, and the user should not wait for it.
const WITHIN: Duration = Duration::from_secs(5);

/// How long one that is connected may take to list its tools; it may have none.
const LISTED_WITHIN: Duration = Duration::from_secs(2);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Tells how many tools of each server are destructive or do not say, and how to trust it.
pub(crate) async fn tell(gateway: Option<&AdminClient>, names: &[&str]) {
    let mut open = names.to_vec();
    if let Some(gateway) = gateway {
        let (began, mut ready) = (Instant::now(), None);
        while !open.is_empty() && began.elapsed() < WITHIN {
            // What was asked for is done; a gateway that cannot be asked takes nothing from it.
            let Ok(told) = gateway.get("/api/servers").await else { break };
            let reloading = told.at(&["configuration", "reloading"]).and_then(|it| it.read());
            if reloading != Some(true) {
                let servers = told.get("servers").unwrap_or(RawJson::NULL);
                let mut is_listing = false;
                open.retain(|name| match Listed::of(&servers, name) {
                    Listed::Marked(marks) => {
                        render::say(&render::one_line(&marks));
                        false
                    }
                    Listed::Harmless => false,
                    Listed::Nothing => {
                        is_listing = true;
                        ready.is_none_or(|ready: Instant| ready.elapsed() < LISTED_WITHIN)
                    }
                    Listed::NotYet => true,
                });
                ready = ready.or_else(|| is_listing.then(Instant::now));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    let server = match open.as_slice() {
        [] => return,
        [one] => one,
        _ => "NAME",
    };
    render::say(&format!(
        "hint: calls of destructive tools wait for approval; `gantry status` says how many there \
         are, and `gantry trust grant server:{server}` lets all of them run"
    ));
}

/// What a gateway knows of the tools of a server.
enum Listed {
    /// Some are destructive or do not say.
    Marked(String),
    /// None is.
    Harmless,
    /// It is connected and has listed nothing.
    Nothing,
    NotYet,
}

impl Listed {
    fn of(servers: &RawJson, name: &str) -> Self {
        let text = |server: &RawJson, key: &str| server.get(key).and_then(|it| it.to_text());
        let mut all = servers.elements();
        let Some(server) = all.find(|it| text(it, "name").as_deref() == Some(name)) else {
            return Self::NotYet;
        };
        if let Some(marks) = text(&server, "marks") {
            return Self::Marked(marks);
        }
        let is_connected = matches!(text(&server, "state").as_deref(), Some("ready" | "degraded"));
        let tools: u64 = server.get("tools").and_then(|it| it.read()).unwrap_or_default();
        match (is_connected, tools) {
            (true, 0) => Self::Nothing,
            (true, _) => Self::Harmless,
            (false, _) => Self::NotYet,
        }
    }
}
