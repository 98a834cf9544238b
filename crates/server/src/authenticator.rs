//! Who is at an HTTP door: whoever the doorman knows by what they show.

use std::fmt;
use std::sync::Arc;

use gantry_gateway::{Scope, TokenLease};

use crate::headers::{Headers, text};

/// Tells who is at an HTTP door by what they show.
pub trait Authenticator: Send + Sync + fmt::Debug {
    /// Lets someone in, or says why not. What is shown is the token of `Authorization: Bearer`.
    fn authenticate(&self, shown: Option<&str>) -> Result<Identity, AuthError>;

    /// Whether people are asked who they are. A door where they are not opens on loopback only.
    fn requires_credentials(&self) -> bool;
}

/// Someone who was let in.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Who is accountable.
    pub principal: Arc<str>,
    /// What they may use; none for everything.
    pub scope: Option<Arc<Scope>>,
    /// What they showed, which may lose its worth while they are inside.
    pub lease: Option<Arc<TokenLease>>,
}

/// Someone who was not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AuthError {
    /// Whether something was shown that does not open.
    pub shown: bool,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Identity {
    /// Someone who may use everything until the end.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), scope: None, lease: None }
    }

    /// Waits until what they showed is good no more.
    pub(crate) async fn over(&self) {
        match &self.lease {
            Some(lease) => lease.over().await,
            None => std::future::pending().await,
        }
    }
}

/// Lets everyone in as the one who uses this machine.
#[derive(Debug)]
pub(crate) struct NoAuthentication(pub(crate) Identity);

impl Authenticator for NoAuthentication {
    fn authenticate(&self, _: Option<&str>) -> Result<Identity, AuthError> {
        Ok(self.0.clone())
    }

    fn requires_credentials(&self) -> bool {
        false
    }
}

/// The token that a request shows; none when it shows nothing. A request that can be read in two
/// ways is refused, since what stands before the gateway may have read the other one.
pub(crate) fn shown(headers: &Headers) -> Result<Option<&str>, AuthError> {
    let mut given = headers.all("authorization");
    let Some(first) = given.next() else { return Ok(None) };
    let refuse = |message: &str| AuthError { shown: true, message: message.to_owned() };
    if given.next().is_some() {
        return Err(refuse("there are two `Authorization` headers; send one"));
    }
    let told = text(first).and_then(|text| text.split_once(' '));
    let token = told.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"));
    let token = token.map(|(_, token)| token.trim_start_matches(' '));
    let is_one = |token: &&str| !token.is_empty() && token.bytes().all(is_of_token);
    match token.filter(is_one) {
        Some(token) => Ok(Some(token)),
        None => Err(refuse("the `Authorization` header must be `Bearer` and one token")),
    }
}

/// The letters that a token may have (RFC 6750).
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_token_is_read() {
        let cases: [(&[&str], Option<Option<&str>>); 14] = [
            (&[], Some(None)),
            (&["Bearer abc"], Some(Some("abc"))),
            (&["bearer abc"], Some(Some("abc"))),
            (&["BEARER   abc "], Some(Some("abc"))),
            (&["Bearer abc", "Bearer abc"], None),
            (&["Bearer abc", "Basic abc"], None),
            (&["Bearer abc, Bearer def"], None),
            (&["Bearer abc,def"], None),
            (&["Bearer abc def"], None),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Basic abc"], None),
            (&["abc"], None),
            (&[""], None),
        ];
        for (given, expected) in cases {
            let mut headers = Headers::default();
            for value in given {
                headers.add("Authorization", value.as_bytes());
            }
            assert_eq!(shown(&headers).ok(), expected, "{given:?}");
        }
    }
}
