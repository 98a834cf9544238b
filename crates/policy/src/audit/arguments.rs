//! What is kept of a call's arguments.

use gantry_gateway::Call;
use gantry_protocol::RawJson;
use sha2::{Digest, Sha256};

use super::Redaction;
use super::settings::{AuditSettings, AuditedArguments};

/// Writes what is kept of them as a member; nothing when there are none, or when nothing is to be
/// kept.
pub(super) fn put(call: &Call, settings: &AuditSettings, redaction: &Redaction, out: &mut String) {
    let Some(arguments) = &call.head.arguments else { return };
    match settings.arguments {
        AuditedArguments::None => {}
        AuditedArguments::Digest => put_digest(arguments, out),
        // What is too long even without its secrets is not worth taking apart.
        AuditedArguments::Redacted if arguments.bytes().len() > 4 * settings.redacted => {
            put_digest(arguments, out);
        }
        AuditedArguments::Redacted => match redaction(arguments) {
            redacted if redacted.bytes().len() <= settings.redacted => {
                out.push_str(",\"arguments\":");
                out.push_str(redacted.as_str());
            }
            _ => put_digest(arguments, out),
        },
    }
}

/// `"sha256:…"` of the arguments without white space.
fn put_digest(arguments: &RawJson, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str(",\"arguments\":\"sha256:");
    let mut digits = [0; 64];
    let digest = Sha256::digest(arguments.compact().bytes());
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(digest) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
    out.push_str(std::str::from_utf8(&digits).unwrap_or_default());
    out.push('"');
}
