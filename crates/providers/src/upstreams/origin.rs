//! What tells a server from another one that is given its name.

use std::sync::Arc;

use gantry_client::Target;
use gantry_gateway::Origin;
use sha2::{Digest, Sha256};

use super::settings::Upstream;

/// Whose the things are that this server offers.
pub(super) fn of(upstream: &Upstream) -> Arc<Origin> {
    Arc::new(Origin { server: upstream.name.as_str().into(), identity: identity(upstream).into() })
}

/// The program with all its words, or the address. Either may hold a secret, so that it is told by
/// its digest. Variables and headers are left out: a new token is not a new server.
fn identity(upstream: &Upstream) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    };
    let kind = match &upstream.target {
        Ok(Target::Program(program)) => {
            add(program.program.as_os_str().as_encoded_bytes());
            program.args.iter().for_each(|word| add(word.as_bytes()));
            "program"
        }
        Ok(Target::Http(endpoint, _) | Target::WebSocket(endpoint)) => {
            add(endpoint.url.to_string().as_bytes());
            "address"
        }
        Err(_) => "unknown",
    };
    let digest = digest.finalize();
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}:{hex}")
}
