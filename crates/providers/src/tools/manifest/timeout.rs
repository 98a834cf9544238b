//! A length of time, written as milliseconds or as `30s`.

use std::time::Duration;

use gantry_protocol::RawJson;

/// Reads a length of time above zero.
pub fn read(value: &RawJson) -> Option<Duration> {
    let milliseconds = match value.to_text() {
        Some(text) => milliseconds(text.trim())?,
        None => value.read::<u64>()?,
    };
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

fn milliseconds(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
