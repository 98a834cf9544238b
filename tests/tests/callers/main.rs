//! Who is calling: tokens at every door, what belongs to whom, and what ends with a token.

mod belongings;
mod doors;
mod program;
mod revocation;

use std::sync::Arc;
use std::time::SystemTime;

use gantry::callers::TokenDoorman;
use gantry::policy::{MemoryCabinet, Signer, Tokens};
use gantry_tests::house::{House, Plan};
use gantry_tests::request::Request;
use gantry_tests::tasks;

/// A house whose doors ask for tokens.
pub(crate) struct Guarded {
    pub(crate) house: House,
    pub(crate) tokens: Arc<Tokens>,
}

impl Guarded {
    pub(crate) async fn open() -> Self {
        let cabinet = Arc::new(MemoryCabinet::default());
        let tokens = Tokens::open(cabinet, Signer::new([7; 32])).await.expect("memory");
        let tokens = Arc::new(tokens);
        let doorman: Arc<TokenDoorman> = Arc::new(TokenDoorman(tokens.clone()));
        let house = House::with(Plan { doorman: Some(doorman), ..Plan::default() }).await;
        tasks::add(&house);
        Self { house, tokens }
    }

    /// A token of that name.
    pub(crate) async fn token(&self, name: &str) -> String {
        self.token_until(name, None).await
    }

    /// A token of that name, good until then.
    pub(crate) async fn token_until(&self, name: &str, expires: Option<SystemTime>) -> String {
        let made = self.tokens.create(name, Vec::new(), expires).await;
        made.expect("it can be made").0.expose().to_owned()
    }
}

/// The request of who holds a token.
pub(crate) fn by(token: &str, request: Request) -> Request {
    request.header("Authorization", &format!("Bearer {token}"))
}
