//! Percent-encoding of URIs that come from outside.

use std::fmt::Write;

/// The URI in ASCII: other characters percent-encoded, and the digits of what is encoded upper
/// case, so that equal URIs are equal texts.
pub(super) fn normalize(uri: &str) -> String {
    let mut out = String::with_capacity(uri.len());
    let mut digits = 0u8;
    for &byte in uri.as_bytes() {
        match byte {
            0x80.. => {
                let _ = write!(out, "%{byte:02X}");
            }
            _ if digits > 0 => out.push(char::from(byte.to_ascii_uppercase())),
            _ => out.push(char::from(byte)),
        }
        digits = if byte == b'%' { 2 } else { digits.saturating_sub(1) };
    }
    out
}

/// Resolves percent-encoding; `None` when the bytes are not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok())
}
