//! The call that is being worked on, so that every log line made meanwhile can name it. It is only
//! pointed at; what a line says of it is written when there is a line.

use crate::context::CallContext;

tokio::task_local! {
    static CURRENT: CallContext;
}

/// Does the work of a call. Whatever is polled or dropped in it has this call as the current one.
pub(crate) fn scope<T>(
    context: CallContext,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    CURRENT.scope(context, work)
}

/// Looks at the call that is being worked on here; none outside of any.
pub fn with_current<T>(look: impl FnOnce(&CallContext) -> T) -> Option<T> {
    CURRENT.try_with(look).ok()
}
