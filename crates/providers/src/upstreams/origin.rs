//! What tells a server from another one that is given its name.

use std::sync::Arc;

use gantry_client::Target;
use gantry_gateway::Origin;
use sha2::{Digest, Sha256};

use super::config::UpstreamConfig;
use super::naming;

/// Whose the things are that this server offers.
pub(super) fn of(upstream: &UpstreamConfig) -> Arc<Origin> {
    Arc::new(Origin { server: upstream.name.as_str().into(), identity: identity(upstream).into() })
}

/// The program with all its words, or the address. Either may hold a secret, so that it is told by
/// its digest. Variables and headers are left out: a new token is not a new server.
pub(super) fn identity(upstream: &UpstreamConfig) -> String {
    match &upstream.target {
        Ok(Target::Program(program)) => {
            let words = program.args.iter().map(String::as_bytes);
            let program = program.program.as_os_str().as_encoded_bytes();
            format!("program:{}", digest([program].into_iter().chain(words)))
        }
        Ok(Target::Http(endpoint, _) | Target::WebSocket(endpoint)) => {
            format!("address:{}", digest([endpoint.url.to_string().as_bytes()]))
        }
        Err(_) => format!("unknown:{}", digest([])),
    }
}

/// Whether two servers are the same one, whatever else their entries say.
pub(super) fn is_same(one: &UpstreamConfig, other: &UpstreamConfig) -> bool {
    one.target.is_ok() && one.source == other.source && identity(one) == identity(other)
}

/// The name of the file that keeps what the server lists. Servers of one name in different
/// configuration files have different ones.
pub(super) fn file(upstream: &UpstreamConfig) -> String {
    let name = naming::file(&upstream.name);
    let Some(source) = &upstream.source else { return format!("{name}.json") };
    let source = std::path::absolute(source).unwrap_or_else(|_| source.clone());
    format!("{name}-{}.json", digest([source.as_os_str().as_encoded_bytes()]))
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
