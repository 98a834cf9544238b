//! Input requests: what a call asks its client for while it runs (elicitation, sampling, roots).

use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{ClientCapabilities, Method, RawJson};
use tokio::sync::oneshot;

use crate::error::{CallError, ErrorKind};

/// An input request in the form of the newest revision: the entry of `inputRequests`.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: Method,
    /// Its parameters.
    pub params: Option<RawJson>,
}

/// An input request on its way to the client, with the channel for the response.
#[derive(Debug)]
pub struct PendingInputRequest {
    /// Unique within the call.
    pub key: String,
    /// The request.
    pub request: InputRequest,
    /// Where the response goes. Dropping it tells the caller that there will be none.
    pub answer: oneshot::Sender<Result<RawJson, InputRequestError>>,
}

impl PendingInputRequest {
    /// The key that the provider chose; none if the key was generated.
    pub fn name(&self) -> Option<&str> {
        let number = self.key.strip_prefix(kind(&self.request.method));
        let number = number.and_then(|rest| rest.strip_prefix('-'));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        Some(&*self.key).filter(|_| !number.is_some_and(is_number))
    }
}

/// What is asked for, in one word.
pub(crate) fn kind(method: &Method) -> &str {
    method.as_str().split('/').next().unwrap_or_default()
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputRequestError {
    /// The client did not declare that it can answer this.
    #[error("the client did not declare the capability {required}, which this call needs")]
    Unsupported {
        /// What it would have had to declare.
        required: RawJson,
    },
    /// The client's revision cannot say this.
    #[error("{0}")]
    Inexpressible(String),
    /// The client answered with an error.
    #[error("the client answered the input request with an error: {error}")]
    Refused {
        /// The error object.
        error: RawJson,
    },
    /// The client is there but says nothing.
    #[error("the client did not answer the input request within {0:?}")]
    Unanswered(Duration),
    /// Nobody is there to answer any more.
    #[error("the client went away before it answered")]
    Gone,
}

impl InputRequest {
    /// An input request with parameters.
    pub fn new(method: Method, params: RawJson) -> Self {
        Self { method, params: Some(params) }
    }

    /// Which folders the client works in.
    pub fn roots() -> Self {
        Self { method: Method::RootsList, params: None }
    }

    /// The entry of `inputRequests` that asks this.
    pub fn to_json(&self) -> RawJson {
        ObjectWriter::new()
            .value("method", self.method.as_str())
            .raw_some("params", self.params.as_ref())
            .finish()
    }

    /// Checks that the client declared what answering takes.
    pub fn check(&self, client: &ClientCapabilities) -> Result<(), InputRequestError> {
        let (declared, required) = match self.method {
            Method::RootsList => (client.roots, r#"{"roots":{}}"#),
            Method::CreateMessage if self.has("tools") => {
                (client.sampling_tools, r#"{"sampling":{"tools":{}}}"#)
            }
            Method::CreateMessage => (client.sampling, r#"{"sampling":{}}"#),
            Method::Elicit if self.is_url() => {
                (client.elicitation_url, r#"{"elicitation":{"url":{}}}"#)
            }
            Method::Elicit => (client.elicitation_form, r#"{"elicitation":{}}"#),
            _ => (false, "{}"),
        };
        match declared {
            true => Ok(()),
            false => {
                Err(InputRequestError::Unsupported { required: RawJson::from_static(required) })
            }
        }
    }

    fn has(&self, member: &str) -> bool {
        self.params.as_ref().is_some_and(|params| params.get(member).is_some())
    }

    fn is_url(&self) -> bool {
        let mode = self.params.as_ref().and_then(|params| params.get("mode"));
        mode.is_some_and(|mode| mode.as_str() == "\"url\"")
    }
}

impl From<InputRequestError> for CallError {
    fn from(error: InputRequestError) -> Self {
        let text = error.to_string();
        let kind = match error {
            InputRequestError::Unsupported { required } => {
                ErrorKind::MissingCapability { required }
            }
            InputRequestError::Inexpressible(_) | InputRequestError::Refused { .. } => {
                ErrorKind::ToolFailed
            }
            InputRequestError::Unanswered(_) => ErrorKind::Timeout,
            InputRequestError::Gone => ErrorKind::Cancelled,
        };
        Self::new(kind, text)
    }
}
