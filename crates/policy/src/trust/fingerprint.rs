//! What tells one definition from another, whatever name it stands under.

use gantry_gateway::Target;
use sha2::{Digest, Sha256};

/// The fingerprint of what a target is: its definition but for the name, and whose it is. Faces
/// show one tool under several names, and its prefix is ours, not the server's.
pub(crate) fn fingerprint(target: &Target) -> String {
    let bare = target.definition().edit().remove("name").apply().compact();
    let origin = target.origin();
    let (server, identity) = origin.map_or(("", ""), |it| (&*it.server, &*it.identity));
    let mut hash = Sha256::new();
    for part in [server.as_bytes(), identity.as_bytes(), bare.bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hexadecimal(&hash.finalize())
}

/// Bytes as text.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
