//! The mapping of call errors to JSON-RPC error codes and HTTP statuses, for each revision. The only
//! such table.

use gantry_gateway::{CallError, ErrorDetail, ErrorKind};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{RawJson, Revision, RpcError, code};

/// Logs the part of an error that the client must not see.
fn log_private(error: &CallError) {
    if let Some(private) = &error.private {
        let (blame, retryable) = (error.blame(), error.is_retryable());
        tracing::warn!(error = %error.public, private, ?blame, retryable, "call failed");
    }
}

/// The error object for a client of this revision.
pub(crate) fn to_rpc(revision: Revision, error: CallError) -> RpcError {
    log_private(&error);
    let detail = (error.kind == ErrorKind::ToolNotFound).then(|| ErrorDetail::from(&error));
    let CallError { kind, public, data, .. } = error;
    let mut data = data;
    if let Some(detail) = detail {
        data = RawJson::of(&detail).ok();
    }
    let code = match kind {
        ErrorKind::MethodNotFound => code::METHOD_NOT_FOUND,
        ErrorKind::InvalidParams
        | ErrorKind::ToolNotFound
        | ErrorKind::InvalidArguments
        | ErrorKind::InputLost => code::INVALID_PARAMS,
        ErrorKind::ResourceNotFound if revision.is_stateless() => code::INVALID_PARAMS,
        ErrorKind::ResourceNotFound => code::RESOURCE_NOT_FOUND,
        ErrorKind::MissingCapability { required } => {
            data = Some(ObjectWriter::new().raw("requiredCapabilities", &required).finish());
            match revision.is_stateless() {
                true => code::MISSING_CLIENT_CAPABILITY,
                false => code::INVALID_REQUEST,
            }
        }
        ErrorKind::LimitExceeded { retry_after } | ErrorKind::UpstreamLimit { retry_after } => {
            let wait = retry_after.map(|wait| wait.as_millis());
            data = data.or(Some(ObjectWriter::new().value_some("retryAfterMs", wait).finish()));
            code::LIMIT_EXCEEDED
        }
        ErrorKind::Timeout => code::TIMEOUT,
        ErrorKind::Cancelled => code::CANCELLED,
        ErrorKind::Refused | ErrorKind::Blocked => code::REFUSED,
        ErrorKind::ShuttingDown => code::SHUTTING_DOWN,
        ErrorKind::Handler { code } => handler_code(revision, code),
        ErrorKind::CredentialsRefused { status } => {
            data = data.or(Some(ObjectWriter::new().value("status", &status).finish()));
            code::INTERNAL_ERROR
        }
        ErrorKind::Unavailable
        | ErrorKind::Malformed
        | ErrorKind::ToolFailed
        | ErrorKind::BadOutput
        | ErrorKind::BrokenPromise
        | ErrorKind::BrokenContract
        | ErrorKind::Internal => code::INTERNAL_ERROR,
    };
    RpcError { code, message: public, data }
}

/// A handler's own code, unless the client's revision reserves it (2026-07-28, error codes). The
/// older revisions leave all of these codes free.
fn handler_code(revision: Revision, code: i64) -> i64 {
    match code {
        -32099..=-32020 if revision.is_stateless() => code::INTERNAL_ERROR,
        code::RESOURCE_NOT_FOUND if revision.is_stateless() => code::INVALID_PARAMS,
        code => code,
    }
}

/// The HTTP status of a response, and its `Retry-After`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpStatus {
    /// The HTTP status.
    pub(crate) code: u16,
    /// Whole seconds.
    pub(crate) retry_after: Option<u64>,
}

impl HttpStatus {
    /// The status of a result.
    pub(crate) const OK: Self = Self { code: 200, retry_after: None };

    /// The status of an error.
    pub(crate) fn of(error: &RpcError) -> Self {
        let data = error.data.as_ref().filter(|_| error.code == code::LIMIT_EXCEEDED);
        let wait: Option<u64> = data.and_then(|data| data.get("retryAfterMs")?.read());
        Self { code: status(error), retry_after: wait.map(|wait| wait.div_ceil(1000)) }
    }
}

/// The HTTP status of an error of a stateless request.
pub(crate) fn status(error: &RpcError) -> u16 {
    match error.code {
        code::PARSE_ERROR
        | code::INVALID_REQUEST
        | code::HEADER_MISMATCH
        | code::MISSING_CLIENT_CAPABILITY
        | code::UNSUPPORTED_VERSION => 400,
        code::METHOD_NOT_FOUND => 404,
        code::LIMIT_EXCEEDED => 429,
        code::SHUTTING_DOWN => 503,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_handlers_are_passed_on_where_the_revision_leaves_them_free() {
        let newest = |code| match code {
            -32099..=-32020 => -32603,
            -32002 => -32602,
            code => code,
        };
        let data = RawJson::from_static(r#"{"n":1.50}"#);
        for revision in Revision::ALL {
            for code in (-32110..=-31990).chain([-32768, -1, 0, 1, i64::MIN, i64::MAX]) {
                let error = CallError::new(ErrorKind::Handler { code }, "it says no");
                let told = to_rpc(revision, error.with_data(data.clone()));
                let expected = if revision.is_stateless() { newest(code) } else { code };
                assert_eq!(told.code, expected, "{code} for a client of {revision}");
                assert_eq!((told.message.as_str(), told.data), ("it says no", Some(data.clone())));
            }
        }
    }
}
