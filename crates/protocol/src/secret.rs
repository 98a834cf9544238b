//! Text that must not be shown: tokens, keys, passwords.

use std::fmt;

/// A text that no log and no error can print.
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Takes the same time wherever two secrets of one length differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.bytes().zip(other.0.bytes());
        let differing = pairs.fold(0, |differing, (one, two)| differing | (one ^ two));
        self.0.len() == other.0.len() && std::hint::black_box(differing) == 0
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_compared_and_not_printed() {
        let cases =
            [("abc", "abc", true), ("abc", "abd", false), ("abc", "ab", false), ("", "", true)];
        for (one, two, same) in cases {
            assert_eq!(Secret::new(one) == Secret::new(two), same, "{one} and {two}");
        }
        assert_eq!(format!("{:?}", Secret::new("abc")), "Secret(…)");
    }
}
