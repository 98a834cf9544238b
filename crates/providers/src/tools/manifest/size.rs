//! An amount of memory, written as bytes or as `512MB`.

use gantry_protocol::RawJson;

/// Reads an amount above zero.
pub fn read(value: &RawJson) -> Option<u64> {
    let bytes = match value.to_text() {
        Some(text) => bytes(text.trim())?,
        None => value.read::<u64>()?,
    };
    (bytes > 0).then_some(bytes)
}

fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim_start() {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
