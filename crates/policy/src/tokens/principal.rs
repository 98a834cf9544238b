//! Who showed a token.

use std::sync::Arc;

use gantry_gateway::{Scope, TokenLease};

/// Who showed a token.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The name of the token.
    pub name: Arc<str>,
    /// What it is good for; none for everything.
    pub scope: Option<Arc<Scope>>,
    /// How long it is good.
    pub lease: Arc<TokenLease>,
}
