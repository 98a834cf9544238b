//! Virtual servers: separate MCP endpoints at `/mcp/NAME`, each before a gateway with a catalog of its
//! own. They are opened and closed while the server runs.
//!
//! A virtual server shares everything that is counted with the main endpoint (sessions, parked
//! calls, tasks, quotas), but a session id or request state of one is invalid at another.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::server_state::ServerState;

/// The prefix of their paths.
pub(crate) const PATH_PREFIX: &str = "/mcp/";

/// The open virtual servers by name.
#[derive(Debug, Default)]
pub(crate) struct VirtualServers(ArcSwap<BTreeMap<String, Arc<ServerState>>>);

impl VirtualServers {
    pub(crate) fn insert(&self, name: &str, virtual_server: &Arc<ServerState>) {
        self.update(|all| drop(all.insert(name.to_owned(), virtual_server.clone())));
    }

    pub(crate) fn remove(&self, name: &str) {
        self.update(|all| drop(all.remove(name)));
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<ServerState>> {
        self.0.load().get(name).cloned()
    }

    /// Their names, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.load().keys().cloned().collect()
    }

    /// The text of a 404 response for a name that is not open.
    pub(crate) fn not_found(&self, name: &str) -> String {
        let paths: Vec<_> = self.names().iter().map(|it| format!("{PATH_PREFIX}{it}")).collect();
        match paths.is_empty() {
            true => format!("no server `{name}` is served here; the MCP endpoint is /mcp\n"),
            false => format!(
                "no server `{name}` is served here; there are {}, and all of them at /mcp\n",
                paths.join(", ")
            ),
        }
    }

    fn update(&self, update: impl Fn(&mut BTreeMap<String, Arc<ServerState>>)) {
        self.0.rcu(|all| {
            let mut all = BTreeMap::clone(all);
            update(&mut all);
            all
        });
    }
}

/// The name in a path, percent-decoded. Bytes that are not UTF-8 leave it as it is.
pub(crate) fn name_in(path: &str) -> String {
    let name = path.strip_prefix(PATH_PREFIX).unwrap_or_default();
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}
