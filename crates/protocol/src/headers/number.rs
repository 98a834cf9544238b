//! Numbers compared by value: `42`, `42.0` and `4.2e1` are one number.

/// A decimal number: its significant digits and the power of ten they stand at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// The longest exponent to write out in full.
const LONGEST: i64 = 32;

impl Decimal {
    /// Reads a number as JSON writes it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return None;
        }
        serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole.trim_start_matches('-'), fraction].concat();
        let significant = digits.trim_end_matches('0');
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let places = i64::try_from(fraction.len()).ok()?;
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let exponent = power.parse::<i64>().ok()?.checked_sub(places)?.checked_add(zeros)?;
        Some(Self { negative: text.starts_with('-'), digits: significant.to_owned(), exponent })
    }

    /// The number written out, when it is a whole one of bearable length.
    pub(super) fn to_integer(&self) -> Option<String> {
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let zeros = usize::try_from(self.exponent).ok().filter(|_| self.exponent <= LONGEST)?;
        let sign = if self.negative { "-" } else { "" };
        Some(format!("{sign}{}{}", self.digits, "0".repeat(zeros)))
    }
}
