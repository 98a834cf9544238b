//! Sizes and durations as people write them in manifests and in the configuration: a number with
//! a unit (`512MB`, `30s`), or a bare number of bytes or milliseconds.

use std::time::Duration;

use gantry_protocol::RawJson;

/// Reads a size in bytes, above zero.
pub fn size(value: &RawJson) -> Option<u64> {
    let bytes = match value.to_text() {
        Some(text) => with_unit(&text, |unit| match unit {
            "B" => Some(1),
            "kB" | "KB" => Some(1_000),
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        })?,
        None => value.read::<u64>()?,
    };
    (bytes > 0).then_some(bytes)
}

/// Reads a duration above zero.
pub fn duration(value: &RawJson) -> Option<Duration> {
    let milliseconds = match value.to_text() {
        Some(text) => with_unit(&text, |unit| match unit {
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            _ => None,
        })?,
        None => value.read::<u64>()?,
    };
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

/// A number times the factor of its unit. A text without a unit is refused: which one is meant
/// would be a guess.
fn with_unit(text: &str, factor: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    number.parse::<u64>().ok()?.checked_mul(factor(unit.trim_start())?)
}
