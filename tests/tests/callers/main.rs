//! Who is calling: tokens at every door, what belongs to whom, and what ends with a token.

mod authentication;
mod belongings;
mod exhaustion;
mod hosts;
mod program;
mod revocation;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use gantry::ServerSettings;
use gantry::TokenAuthenticator;
use gantry::policy::{Clock, MemoryDocumentStore, Signer, Tokens};
use gantry_tests::request::Request;
use gantry_tests::tasks;
use gantry_tests::test_server::{TestOptions, TestServer};

/// A house whose doors ask for tokens.
pub(crate) struct Guarded {
    pub(crate) test_server: TestServer,
    pub(crate) tokens: Arc<Tokens>,
    /// Seconds that the clock of the doors is ahead of the machine's.
    pub(crate) ahead: Arc<AtomicU64>,
}

impl Guarded {
    pub(crate) async fn open() -> Self {
        Self::with(ServerSettings::default()).await
    }

    /// The same with these limits.
    pub(crate) async fn with(doors: ServerSettings) -> Self {
        let document_store = Arc::new(MemoryDocumentStore::default());
        let ahead: Arc<AtomicU64> = Arc::default();
        let added = ahead.clone();
        let clock = Clock::new(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
            now.as_secs() + added.load(Ordering::SeqCst)
        });
        let tokens =
            Tokens::open(document_store, Signer::new([7; 32]), clock).await.expect("memory");
        let tokens = Arc::new(tokens);
        let authenticator: Arc<TokenAuthenticator> = Arc::new(TokenAuthenticator(tokens.clone()));
        let test_server = TestServer::with(TestOptions {
            doors,
            authenticator: Some(authenticator),
            ..TestOptions::default()
        })
        .await;
        tasks::add(&test_server);
        Self { test_server, tokens, ahead }
    }

    /// A token of that name.
    pub(crate) async fn token(&self, name: &str) -> String {
        self.token_until(name, None).await
    }

    /// A token of that name, good until then.
    pub(crate) async fn token_until(&self, name: &str, expires: Option<SystemTime>) -> String {
        let made = self.tokens.create(name, None, expires).await;
        made.expect("it can be made").0.expose().to_owned()
    }
}

/// The request of who holds a token.
pub(crate) fn by(token: &str, request: Request) -> Request {
    request.by(token)
}
