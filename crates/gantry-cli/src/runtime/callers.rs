//! The callers of this gateway: their tokens, kept while it runs, and the one for the user's own
//! clients.

use std::sync::Arc;

use gantry::policy_set::PolicyStorage;
use gantry::{ServerBuilder, TokenAuthenticator};
use gantry_policy::{Approvals, MemoryDocumentStore, Role, Token, Tokens};
use tokio::task::JoinHandle;

use crate::admin::Admin;
use crate::config::Auth;
use crate::exit::{Code, Exit};
use crate::state_dir;

/// The name of the token that is made at the first start.
const FIRST: &str = "default";

/// Whoever may call over HTTP.
#[derive(Debug)]
pub(crate) struct Callers {
    tokens: Arc<Tokens>,
    auth: Auth,
    is_listening: bool,
    /// Keeps memory and store together.
    storage: JoinHandle<()>,
}

/// What a client of the user must show.
#[derive(Debug)]
pub(crate) enum Access {
    /// Nothing.
    Free,
    /// This token, which the state directory has.
    Own {
        /// The token.
        token: Token,
        /// Whether nobody has seen it yet.
        is_new: bool,
    },
    /// A token that the user has made.
    Theirs,
}

/// Finds the tokens that were kept.
pub(crate) async fn tokens(storage: &PolicyStorage) -> Result<Arc<Tokens>, Exit> {
    let PolicyStorage { document_store, signer, clock } = storage.clone();
    let tokens = Tokens::open(document_store, signer, clock).await;
    tokens.map(Arc::new).map_err(|error| {
        let text = format!("the tokens of callers cannot be read: {error}");
        Exit::new(Code::Configuration, text).hint("repair the store, or set `state` to another one")
    })
}

impl Callers {
    /// Those who may call, from now on. A gateway that listens nowhere has none, and is not made
    /// to wait for the store.
    pub(crate) async fn open(
        auth: Auth,
        storage: &PolicyStorage,
        is_listening: bool,
    ) -> Result<Self, Exit> {
        let tokens = match is_listening {
            true => tokens(storage).await?,
            false => {
                let document_store = Arc::new(MemoryDocumentStore::default());
                tokens(&PolicyStorage { document_store, ..storage.clone() }).await?
            }
        };
        let kept = tokens.clone();
        let storage = tokio::spawn(async move { kept.keep().await });
        Ok(Self { tokens, auth, is_listening, storage })
    }

    /// Adds the tokens of callers to the administration, if anybody can call with one.
    pub(crate) fn administer(&self, admin: Admin) -> Admin {
        if self.is_listening { admin.tokens(self.tokens.clone()) } else { admin }
    }

    /// Lets approvals know the roles of callers.
    pub(crate) fn tell_roles(&self, approvals: &Approvals) {
        let tokens = self.tokens.clone();
        approvals.set_roles(Arc::new(move |name| tokens.role_of(name)));
    }

    /// Puts a doorman at the doors, if callers must say who they are.
    pub(crate) fn install(&self, builder: ServerBuilder, admin: Admin) -> ServerBuilder {
        let builder = builder.handler(Admin::PREFIX, Arc::new(admin));
        match self.auth {
            Auth::Token => builder.authenticator(Arc::new(TokenAuthenticator(self.tokens.clone()))),
            Auth::None => builder,
        }
    }

    /// What the user's own clients must show. A token is made for them when there is none at all,
    /// and found again unless it was taken away.
    pub(crate) async fn access(&self) -> Result<Access, Exit> {
        if self.auth == Auth::None {
            return Ok(Access::Free);
        }
        if !self.tokens.list().is_empty() {
            let found = state_dir::find_client_token()?;
            let good = found.filter(|token| self.tokens.is_good(token));
            if let Some(token) = &good {
                let marked = self.tokens.set_role(token, Role::User).await;
                marked.map_err(|error| Exit::new(Code::Configuration, error.to_string()))?;
            }
            return Ok(good.map_or(Access::Theirs, |token| Access::Own { token, is_new: false }));
        }
        let token = state_dir::client_token()?;
        let created = self.tokens.enroll(&token, Role::User, FIRST, None, None).await;
        created.map_err(|error| Exit::new(Code::Configuration, error.to_string()))?;
        Ok(Access::Own { token, is_new: true })
    }

    /// Writes down what is not written yet.
    pub(crate) async fn stop(self) {
        self.storage.abort();
        let _ = self.storage.await;
        if let Err(error) = self.tokens.write_uses().await {
            tracing::warn!(%error, "the last use of tokens could not be stored");
        }
    }
}
