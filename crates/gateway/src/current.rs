//! The call that is being worked on, so that every log line made meanwhile can name it. It is only
//! pointed at; what a line says of it is written when there is a line.

use std::sync::Arc;

use crate::call::Call;
use crate::exchange::Exchange;

tokio::task_local! {
    static CURRENT: Current;
}

struct Current {
    call: Arc<Call>,
    exchange: Exchange,
}

/// Does the work of a call. Whatever is polled or dropped in it has this call as the current one.
pub(crate) async fn scope<T>(
    call: Arc<Call>,
    exchange: Exchange,
    work: impl Future<Output = T>,
) -> T {
    CURRENT.scope(Current { call, exchange }, work).await
}

/// Looks at the call that is being worked on here; none outside of any.
pub fn with_current<T>(look: impl FnOnce(&Call, &Exchange) -> T) -> Option<T> {
    CURRENT.try_with(|current| look(&current.call, &current.exchange)).ok()
}
