//! What a call comes to.

use std::sync::Arc;

use gantry_protocol::{RawJson, ResultObject};

use crate::error::CallError;
use crate::page::Page;

/// A call ends in a reply or an error.
pub type Outcome = Result<Reply, CallError>;

/// A successful end, in the newest form.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The result object.
    Result(ResultObject),
    /// A page of a list, shared with everyone who asks for it.
    Page(Arc<Page>),
    /// The provider cannot go on without answers from the client, and keeps nothing meanwhile.
    InputRequired(InputRequired),
}

impl Reply {
    /// A result object.
    pub fn result(raw: RawJson) -> Self {
        Self::Result(raw.into())
    }
}

/// What a provider needs before it can go on.
#[derive(Debug, Clone, Default)]
pub struct InputRequired {
    /// Questions by key, each `{method, params}`.
    pub requests: Option<RawJson>,
    /// State of the provider's own, to come back with the answers.
    pub state: Option<RawJson>,
}
