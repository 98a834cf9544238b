//! The policies that stand between a call and its provider, one file each.

mod deadline;
mod limit;
mod meter;
mod validate;

pub use deadline::Deadline;
pub use limit::{InFlight, Permit};
pub(crate) use meter::{Ending, ToolMeter};
pub use meter::{Histogram, Meter, ToolStatistics};
pub use validate::{check_arguments, check_result};

use futures_util::future::BoxFuture;

use crate::call::Call;
use crate::error::CallError;
use crate::exchange::Exchange;
use crate::provider::Resolved;

/// A policy that sees only the name: limits. It stands before the name is resolved.
pub trait Gate: Send + Sync {
    /// Lets the call pass or says why not.
    fn admit(&self, call: &Call) -> Result<(), CallError>;
}

/// A policy that sees what the call is for: authorization, trust, approval. It may ask the
/// client, or wait for a person.
pub trait Ward: Send + Sync {
    /// Lets the call pass or says why not.
    fn admit<'a>(
        &'a self,
        call: &'a Resolved,
        exchange: &'a Exchange,
    ) -> BoxFuture<'a, Result<(), CallError>>;
}

/// A policy that sees every call begin and end, refused ones too: the record.
pub trait Witness: Send + Sync {
    /// A call has ended in this way.
    fn ended(&self, call: &CallSummary<'_>);
}

/// What a witness is told of a call.
#[derive(Debug)]
pub struct CallSummary<'a> {
    /// The method.
    pub method: &'a gantry_protocol::Method,
    /// Who called.
    pub principal: &'a str,
    /// How it ended.
    pub outcome: &'a crate::reply::Outcome,
    /// How long it took.
    pub took: std::time::Duration,
}
