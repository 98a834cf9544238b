//! How a policy lets a call pass: at once or after a while, and with something to hold until its end.

use futures_util::future::BoxFuture;

use crate::error::CallError;
use crate::reply::Outcome;

/// What a policy says of a call.
pub enum Decision<'a> {
    /// It is decided. Nearly every call is, so nothing is allocated for it.
    Now(Verdict),
    /// It takes a while: a queue, or a person.
    Later(BoxFuture<'a, Verdict>),
}

/// Let through, or why not.
pub type Verdict = Result<Permit, CallError>;

/// Leave to go on, with whatever has to be given back at the end.
#[derive(Default)]
pub struct Permit(Option<Box<dyn OnEnd>>);

/// Something that a call holds while it is under way: a place, a right. Dropped without a word when
/// the call is given up.
pub trait OnEnd: Send + Sync {
    /// The call ends like this. An error takes the place of a good end.
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError>;
}

impl Permit {
    /// Leave to go on, with nothing to give back.
    pub const FREE: Self = Self(None);

    /// Leave to go on for as long as this is held.
    pub fn holding(held: impl OnEnd + 'static) -> Self {
        Self(Some(Box::new(held)))
    }

    pub(crate) fn held(self) -> Option<Box<dyn OnEnd>> {
        self.0
    }
}

impl Decision<'_> {
    /// The call may pass.
    pub const GRANTED: Self = Self::Now(Ok(Permit::FREE));

    /// The call may not pass.
    pub fn refused(error: CallError) -> Self {
        Self::Now(Err(error))
    }

    pub(crate) async fn verdict(self) -> Verdict {
        match self {
            Self::Now(verdict) => verdict,
            Self::Later(verdict) => verdict.await,
        }
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Pass").field(&self.0.is_some()).finish()
    }
}
