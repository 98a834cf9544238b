//! What tells one definition from another, whatever name it stands under.

use gantry_gateway::Target;
use sha2::{Digest, Sha256};

use crate::pins::canonical;

/// The fingerprint of what a target is: its definition as its provider wrote it, in the form that
/// pins use, and whose it is. The names that endpoints give it, the order of members and white space
/// do not matter.
pub(crate) fn fingerprint(target: &Target) -> String {
    let definition = canonical(match target {
        Target::Tool(tool) => &tool.own.definition,
        Target::Prompt(prompt) => &prompt.own.definition,
        Target::Resource(_) | Target::Template(..) => target.definition(),
    });
    let origin = target.origin();
    let (server, identity) = origin.map_or(("", ""), |it| (&*it.server, &*it.identity));
    let mut hash = Sha256::new();
    for part in [server.as_bytes(), identity.as_bytes(), definition.bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hexadecimal(&hash.finalize())
}

/// Bytes as text.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
