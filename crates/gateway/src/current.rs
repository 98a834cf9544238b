//! The call that is being worked on, so that every log line made meanwhile can name it. It is only
//! pointed at; what a line says of it is written when there is a line.

use crate::exchange::Exchange;

tokio::task_local! {
    static CURRENT: Exchange;
}

/// Does the work of a call. Whatever is polled or dropped in it has this call as the current one.
pub(crate) fn scope<T>(
    exchange: Exchange,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    CURRENT.scope(exchange, work)
}

/// Looks at the call that is being worked on here; none outside of any.
pub fn with_current<T>(look: impl FnOnce(&Exchange) -> T) -> Option<T> {
    CURRENT.try_with(look).ok()
}
