//! Tokens in the cabinet: a record with its signature, so that who can write to the store but has
//! not the key can neither make a token nor give one back that was taken away.

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};

use crate::signature::Signer;
use crate::token::{TokenRecord, hash_bytes, hexadecimal};

/// The kind of documents that hold tokens.
pub(super) const TOKENS: &str = "tokens";
/// The kind that holds when each was last used. It is written often and by every program, and
/// kept apart so that it can undo nothing.
pub(super) const USES: &str = "token-uses";

const PURPOSE: &str = "token";

/// A record as it is kept.
pub(super) fn seal(signer: &Signer, record: &TokenRecord) -> String {
    let text = RawJson::of(record).unwrap_or(RawJson::NULL);
    let signature = signer.sign(PURPOSE, &[record.id.as_bytes(), text.bytes()]);
    let sealed =
        ObjectWriter::new().raw("record", &text).value("signature", &hexadecimal(&signature));
    sealed.finish().as_str().to_owned()
}

/// The record that was kept under an id, with the hash of its secret. What was not written by us
/// is left out, and told.
pub(super) fn open(signer: &Signer, id: &str, content: &str) -> Option<(TokenRecord, [u8; 32])> {
    let opened = read(signer, id, content);
    if opened.is_none() {
        tracing::error!(id, "a token in the store was changed by someone else; it opens nothing");
    }
    opened
}

fn read(signer: &Signer, id: &str, content: &str) -> Option<(TokenRecord, [u8; 32])> {
    let document = RawJson::parse(content.to_owned(), JsonLimits::default()).ok()?;
    let text = document.get("record")?;
    let signature = hash_bytes(&document.get("signature")?.to_text()?)?;
    if !signer.is_signed(PURPOSE, &[id.as_bytes(), text.bytes()], &signature) {
        return None;
    }
    let record: TokenRecord = text.read()?;
    let hash = hash_bytes(&record.hash)?;
    (record.id == id).then_some((record, hash))
}
