//! The authenticator that accepts the tokens of this gateway.

use std::sync::Arc;

use gantry_policy::{TokenRefusal, Tokens};
use gantry_server::{AuthError, Authenticator, Identity};

/// Knows callers by their tokens.
#[derive(Debug, Clone)]
pub struct TokenAuthenticator(pub Arc<Tokens>);

impl Authenticator for TokenAuthenticator {
    fn authenticate(&self, shown: Option<&str>) -> Result<Identity, AuthError> {
        let checked = self.0.check(shown);
        let refuse = |refusal: TokenRefusal| {
            let shown = refusal != TokenRefusal::Missing;
            AuthError { shown, message: refusal.to_string() }
        };
        let known = checked.map_err(refuse)?;
        Ok(Identity { principal: known.name, scope: known.scope, lease: Some(known.lease) })
    }

    fn requires_credentials(&self) -> bool {
        true
    }
}
