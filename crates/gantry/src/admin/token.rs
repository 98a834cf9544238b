//! The secret that administration asks for.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// A secret; it is never printed.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn new(token: String) -> Self {
        Self(token)
    }

    /// Whether a request shows it. The time this takes does not tell how much of it is right.
    pub(super) fn is_shown_by(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default().trim();
        let pairs = shown.bytes().zip(self.0.bytes());
        let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
        !self.0.is_empty() && shown.len() == self.0.len() && difference == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let cases = [
            ("secret", Some("Bearer secret"), true),
            ("secret", Some("Bearer  secret "), true),
            ("secret", Some("Bearer secreT"), false),
            ("secret", Some("Bearer secret2"), false),
            ("secret", Some("Bearer secre"), false),
            ("secret", Some("Bearer "), false),
            ("secret", Some("Basic secret"), false),
            ("secret", Some("secret"), false),
            ("secret", None, false),
            ("", Some("Bearer "), false),
            ("", None, false),
        ];
        for (token, shown, expected) in cases {
            let mut headers = HeaderMap::new();
            if let Some(shown) = shown {
                headers.insert(AUTHORIZATION, shown.parse().expect("a header"));
            }
            let token = Token::new(token.to_owned());
            assert_eq!(token.is_shown_by(&headers), expected, "{shown:?}");
            assert_eq!(format!("{token:?}"), "Token(…)");
        }
    }
}
