//! Authentication of HTTP clients: the trait that an embedder implements, and the identity it returns.

use std::fmt;
use std::sync::Arc;

use gantry_gateway::{Scope, TokenLease};

use crate::seal::random_name;

/// Authenticates HTTP requests by their bearer token.
pub trait Authenticator: Send + Sync + fmt::Debug {
    /// Authenticates a request with the token of `Authorization: Bearer`, if it has one.
    fn authenticate(&self, token: Option<&str>) -> Result<Identity, AuthError>;

    /// Whether clients must authenticate. If not, HTTP servers listen on loopback addresses only.
    fn requires_credentials(&self) -> bool;
}

/// An authenticated client.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Who is accountable.
    pub principal: Arc<str>,
    /// What the client may use; none for everything.
    pub scope: Option<Arc<Scope>>,
    /// The token, which may expire or be revoked while a request or stream is in flight.
    pub lease: Option<Arc<TokenLease>>,
}

/// Why a request was not authenticated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AuthError {
    /// Whether a credential was sent that is invalid.
    pub shown: bool,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Identity {
    /// An identity that may use everything and is never revoked.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), scope: None, lease: None }
    }

    /// Waits until the token is revoked or expires.
    pub(crate) async fn revoked(&self) {
        match &self.lease {
            Some(lease) => lease.over().await,
            None => std::future::pending().await,
        }
    }
}

/// An identity with the session or connection of its requests.
#[derive(Debug, Clone)]
pub(crate) struct ClientIdentity {
    pub(crate) identity: Identity,
    /// The name of the session or connection; none for a stateless request over HTTP.
    pub(crate) session: Option<Arc<str>>,
}

impl ClientIdentity {
    /// A client whose requests are unrelated to each other.
    pub(crate) fn stateless(identity: &Identity) -> Self {
        Self { identity: identity.clone(), session: None }
    }

    /// A client that opens a session or connection.
    pub(crate) fn with_session(identity: &Identity) -> Self {
        Self { identity: identity.clone(), session: Some(random_name().into()) }
    }
}

/// Authenticates every request as the local user.
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
