//! What is kept of a call's arguments.

use gantry_gateway::Call;
use gantry_protocol::RawJson;
use sha2::{Digest, Sha256};

use super::redaction::Redaction;
use super::settings::{AuditSettings, AuditedArguments};

/// What is kept of them; none when there are none, or when nothing is to be kept.
pub(super) fn kept(
    call: &Call,
    settings: &AuditSettings,
    redaction: &Redaction,
) -> Option<RawJson> {
    let arguments = call.head.arguments.as_ref()?;
    match settings.arguments {
        AuditedArguments::None => None,
        AuditedArguments::Digest => Some(digest(arguments)),
        // What is too long even without its secrets is not worth taking apart.
        AuditedArguments::Redacted if arguments.bytes().len() > 4 * settings.redacted => {
            Some(digest(arguments))
        }
        AuditedArguments::Redacted => {
            let redacted = redaction.apply(arguments);
            let is_short = redacted.bytes().len() <= settings.redacted;
            Some(if is_short { redacted } else { digest(arguments) })
        }
    }
}

/// `"sha256:…"` of the arguments without white space.
fn digest(arguments: &RawJson) -> RawJson {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let hash = Sha256::digest(arguments.compact().bytes());
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in hash {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    RawJson::string(&text)
}
