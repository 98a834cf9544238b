//! What a server's failures mean for the call that it failed.

use std::time::Duration;

use gantry_client::ClientError;
use gantry_gateway::{CallError, ErrorKind, InputRequired, Outcome, Reply};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson, RpcError, code};

use super::redaction::Redaction;

/// The call that failed.
#[derive(Debug)]
pub(super) struct Failed<'a> {
    pub(super) server: &'a str,
    pub(super) method: &'a Method,
    /// The answers that it brought along.
    pub(super) answers: Option<&'a RawJson>,
    pub(super) redaction: &'a Redaction,
}

impl Failed<'_> {
    /// What becomes of the call.
    pub(super) fn outcome(&self, error: ClientError) -> Outcome {
        match error {
            ClientError::Answered(error) if error.code == code::URL_ELICITATION_REQUIRED => {
                self.pages(error)
            }
            ClientError::Answered(error) => Err(self.answered(error)),
            error => Err(self.broken(&error)),
        }
    }

    /// The server answered with an error.
    fn answered(&self, error: RpcError) -> CallError {
        let Self { server, redaction, .. } = self;
        let (code, text) = (error.code, redaction.text(&error.message));
        let data = error.data.map(|data| redaction.json(data));
        let required = || data.as_ref()?.get("requiredCapabilities").filter(RawJson::is_object);
        let is_read = *self.method == Method::ResourcesRead;
        let has_uri = data.as_ref().is_some_and(|data| data.get("uri").is_some());
        let kind = match code {
            code::RESOURCE_NOT_FOUND if is_read => ErrorKind::ResourceNotFound,
            code::INVALID_PARAMS if is_read && has_uri => ErrorKind::ResourceNotFound,
            code::MISSING_CLIENT_CAPABILITY => match required() {
                Some(required) => ErrorKind::MissingCapability { required },
                None => ErrorKind::ToolFailed,
            },
            // They speak of the way between this gateway and the server, not of the client's.
            code::HEADER_MISMATCH | code::UNSUPPORTED_VERSION => {
                let text = format!("the server `{server}` refused how it was asked: {text}");
                return CallError::new(ErrorKind::Internal, text);
            }
            code => ErrorKind::Handler { code },
        };
        CallError { kind, public: text, private: None, data }
    }

    /// No answer came.
    fn broken(&self, error: &ClientError) -> CallError {
        let Self { server, redaction, .. } = self;
        let more = format!("`gantry logs {server}` shows what it wrote");
        let (kind, text) = match error {
            ClientError::Timeout(time) => {
                let time = seconds(*time);
                let text = format!("the server `{server}` did not answer within {time}; {more}");
                (ErrorKind::Timeout, text)
            }
            ClientError::Malformed(reason) => {
                let reason = redaction.text(reason);
                let text = format!(
                    "the server `{server}` answered in a way that cannot be understood: {reason}"
                );
                (ErrorKind::ToolFailed, text)
            }
            ClientError::Lost(reason) => {
                let reason = redaction.text(reason);
                let text = format!(
                    "the server `{server}` went away before it answered, and may have done its \
                     work: {reason}; {more}"
                );
                (ErrorKind::Unavailable, text)
            }
            ClientError::Busy(_) => {
                let kind = ErrorKind::LimitExceeded { retry_after: Some(Duration::from_secs(1)) };
                (kind, format!("the server `{server}` is busy: {error}"))
            }
            ClientError::Unauthorized { .. } => {
                let text = format!("{error}; check the credentials of the server `{server}`");
                (ErrorKind::Unavailable, text)
            }
            error => {
                let reason = redaction.text(&error.to_string());
                let text = format!("the server `{server}` cannot be reached: {reason}; {more}");
                (ErrorKind::Unavailable, text)
            }
        };
        CallError::new(kind, text)
    }

    /// The user must see pages on the web first (2025-11-25, `URLElicitationRequiredError`). Each
    /// becomes a question; when all are answered the call is simply made again.
    fn pages(&self, error: RpcError) -> Outcome {
        let Self { server, redaction, .. } = self;
        if self.answers.is_some_and(is_declined) {
            let text = format!("the server `{server}` needs a page to be visited, and it was not");
            return Err(CallError::new(ErrorKind::ToolFailed, text));
        }
        let pages = error.data.as_ref().and_then(|data| data.get("elicitations"));
        let mut requests = ObjectWriter::new();
        let mut count = 0;
        for page in pages.iter().flat_map(RawJson::elements) {
            count += 1;
            let params = page.edit().remove("elicitationId").apply();
            let question =
                ObjectWriter::new().value("method", Method::Elicit.as_str()).raw("params", &params);
            requests = requests.raw(&format!("url_{count}"), &question.finish());
        }
        if count == 0 {
            let text = redaction.text(&error.message);
            let text = format!("the server `{server}` needs a page to be visited: {text}");
            return Err(CallError::new(ErrorKind::ToolFailed, text));
        }
        let requests = Some(requests.finish());
        Ok(Reply::InputRequired(InputRequired { requests, state: None }))
    }
}

/// Whether a page was not visited.
fn is_declined(answers: &RawJson) -> bool {
    answers.members().any(|answer| {
        let action = answer.value().get("action");
        answer.key().starts_with("url_") && action.is_some_and(|it| it.as_str() != "\"accept\"")
    })
}

fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{time:?}"),
    }
}

#[cfg(test)]
mod tests;
