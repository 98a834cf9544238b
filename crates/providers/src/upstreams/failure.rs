//! Maps failures of a server to the error of the call: names the server, says what happened, and
//! whether the call may have been carried out.

use std::time::Duration;

use gantry_client::{ClientError, HttpError};
use gantry_gateway::{CallError, ErrorKind};
use gantry_protocol::{Method, RawJson, Redactor, RpcError, code};

use super::aliases::Aliases;

/// The call that failed.
#[derive(Debug)]
pub(super) struct Failed<'a> {
    pub(super) server: &'a str,
    pub(super) method: &'a Method,
    /// Other addresses of the server's resources.
    pub(super) aliases: Option<&'a Aliases>,
    /// Whether the server has no handshake: only such a server means by some codes what they say of
    /// the hop between it and the gateway.
    pub(super) is_stateless: bool,
    /// Whether a second call does no harm.
    pub(super) is_repeatable: bool,
    pub(super) redaction: &'a Redactor,
}

impl Failed<'_> {
    /// What the call is told.
    pub(super) fn error(&self, error: ClientError) -> CallError {
        match error {
            ClientError::Answered(error) => self.answered(error),
            ClientError::Http(http) => self.status(*http),
            error => self.broken(&error),
        }
    }

    /// The server answered with an error.
    fn answered(&self, error: RpcError) -> CallError {
        let Self { server, redaction, .. } = self;
        let (code, text) = (error.code, redaction.text(cut(&error.message)).into_owned());
        let data = error.data.map(|data| redaction.json(data));
        let required = || data.as_ref()?.get("requiredCapabilities").filter(RawJson::is_object);
        let is_read = *self.method == Method::ResourcesRead;
        let kind = match code {
            // The address is all that can be wrong; older revisions have a code of their own for it.
            code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS if is_read => {
                let data = data.map(|data| self.with_our_address(data));
                return CallError { data, ..CallError::new(ErrorKind::ResourceNotFound, text) };
            }
            code::MISSING_CLIENT_CAPABILITY if required().is_some() => {
                let required = required().unwrap_or(RawJson::EMPTY_OBJECT);
                ErrorKind::MissingCapability { required }
            }
            code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION
                if self.is_stateless =>
            {
                let text = format!(
                    "the server `{server}` refused the gateway's request with code {code}: {text}"
                );
                return CallError { data, ..CallError::new(ErrorKind::Internal, text) };
            }
            code => ErrorKind::Handler { code },
        };
        CallError { kind, public: text, private: None, data }
    }

    /// The server answered with an HTTP status that is an error.
    fn status(&self, http: HttpError) -> CallError {
        let Self { server, redaction, .. } = self;
        if http.status == 429 {
            return self.limited(http);
        }
        // The error of the protocol says more than the status.
        if let Some(error) = http.error {
            return self.answered(error);
        }
        let what = http.to_string();
        let what = redaction.text(&what);
        let advice = match http.status {
            _ if http.is_unsent => "the call was not sent; wait, then call again",
            404 | 405 => "check `url` in its configuration entry",
            400..500 => "it did not accept the request",
            _ => self.consequence(),
        };
        let text = format!("the server `{server}` failed: {what}; {advice}");
        CallError::new(ErrorKind::Unavailable, text)
    }

    /// What follows for the call when nobody knows whether it was carried out.
    fn consequence(&self) -> &'static str {
        match self.is_repeatable {
            true => "calling again is safe, since this only reads or may be repeated",
            false => {
                "it is not known whether the call was carried out; check before you call again"
            }
        }
    }

    /// The server limits its rate.
    fn limited(&self, http: HttpError) -> CallError {
        let Self { server, redaction, .. } = self;
        let (said, data) = match http.error {
            Some(error) => (format!(": {}", redaction.text(cut(&error.message))), error.data),
            None => (String::new(), None),
        };
        let data = data.map(|data| redaction.json(data));
        let told = data.as_ref().and_then(|data| data.get("retryAfterMs")?.read());
        let retry_after = http.retry_after.or(told.map(Duration::from_millis));
        let advice = match retry_after {
            Some(wait) => format!("call again after {}", seconds(wait)),
            None => "it does not say for how long; wait before you call again".to_owned(),
        };
        let text =
            format!("the server `{server}` limits its rate (HTTP status 429){said}; {advice}");
        CallError { data, ..CallError::new(ErrorKind::UpstreamLimit { retry_after }, text) }
    }

    fn with_our_address(&self, data: RawJson) -> RawJson {
        let own = data.get("uri").and_then(|uri| uri.to_text());
        match (own, self.aliases) {
            (Some(own), Some(aliases)) => {
                data.edit().set("uri", RawJson::string(&aliases.outward(&own))).apply()
            }
            _ => data,
        }
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
                let reason = redaction.text(reason).into_owned();
                let text = format!(
                    "the server `{server}` answered in a way that cannot be understood: {reason}"
                );
                (ErrorKind::Malformed, text)
            }
            ClientError::Reset(reason) | ClientError::Lost(reason) => {
                let reason = redaction.text(reason).into_owned();
                let how = match error {
                    ClientError::Reset(_) => "before a byte of its answer came",
                    _ => "before its answer was complete",
                };
                let text = format!(
                    "the connection to the server `{server}` was lost {how}: {reason}; {}; {more}",
                    self.consequence()
                );
                (ErrorKind::Unavailable, text)
            }
            ClientError::Busy(_) => {
                let kind = ErrorKind::LimitExceeded { retry_after: Some(Duration::from_secs(1)) };
                (kind, format!("the server `{server}` is busy: {error}"))
            }
            ClientError::Unauthorized { status, .. } => {
                let text = format!(
                    "the server `{server}` refused the gateway's credentials with HTTP status \
                     {status}; correct `headers` in its configuration entry"
                );
                (ErrorKind::CredentialsRefused { status: *status }, text)
            }
            error => {
                let reason = redaction.text(&error.to_string()).into_owned();
                let text = format!("the server `{server}` cannot be reached: {reason}; {more}");
                (ErrorKind::Unavailable, text)
            }
        };
        CallError::new(kind, text)
    }
}

/// Bytes of a server's message that are passed on. It is for people and models, and searched for
/// secrets word by word.
const MESSAGE: usize = 64 * 1024;

/// The beginning of a message that is too long.
fn cut(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE)]
}

fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{time:?}"),
    }
}

#[cfg(test)]
mod tests;
