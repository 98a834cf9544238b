//! Handles what a server sends during a call: progress, log messages, and input requests, which go
//! to the client of that call. Where several servers may ask the same person, the message of an
//! elicitation begins with the name of the server that asks.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_client::{InputRefusal, RequestHandler};
use gantry_gateway::{CallContext, InputRequest, InputRequestError};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Level, Method, RawJson, Redactor};
use tokio::time::{Instant, sleep_until};

use crate::upstreams::upstream::Upstream;

/// How long an input request waits for others that a server asks at the same time, when the client must
/// take them all at once. A person who is asked does not see it.
const BATCH_WINDOW: Duration = Duration::from_millis(20);

/// The client of one call.
#[derive(Debug)]
pub(super) struct CallRequestHandler {
    context: CallContext,
    /// Whether the client takes all input requests at once.
    at_once: bool,
    identity: OnceLock<String>,
    redaction: Redactor,
    /// The server, where there are others that may ask.
    named_server: Option<Arc<Upstream>>,
    inputs: Mutex<InputState>,
}

#[derive(Debug, Default)]
struct InputState {
    /// Names that input requests of this call had.
    keys: HashSet<String>,
    /// What the client would have had to declare to answer an input request.
    missing: Option<RawJson>,
    /// When the input requests that wait for each other go out.
    release: Option<Instant>,
}

impl CallRequestHandler {
    /// `at_once` says that the client is gone with the first question, and comes back with the
    /// answers.
    pub(super) fn new(
        context: CallContext,
        redaction: Redactor,
        at_once: bool,
        named_server: Option<Arc<Upstream>>,
    ) -> Self {
        let (identity, inputs) = (OnceLock::new(), Mutex::default());
        Self { context, at_once, identity, redaction, named_server, inputs }
    }

    /// What the client would have had to declare, if the server asked for more than that.
    pub(super) fn missing(&self) -> Option<RawJson> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).missing.clone()
    }

    /// Asks the client. A name that was used before would bring the answer of then.
    pub(super) async fn request_input(
        &self,
        key: Option<String>,
        ask: InputRequest,
    ) -> Result<RawJson, InputRequestError> {
        let key = self.unique_key(key, &ask.method);
        self.request_input_as(&key, ask).await
    }

    async fn request_input_as(
        &self,
        key: &str,
        ask: InputRequest,
    ) -> Result<RawJson, InputRequestError> {
        let InputRequest { method, params } = ask;
        let params = match &self.named_server {
            Some(server) => params.map(|params| with_server_name(server.name(), &method, params)),
            None => params,
        };
        let ask = InputRequest { method, params };
        let answer = self.context.ask(key, ask).await;
        if let Err(InputRequestError::Unsupported { required }) = &answer {
            let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
            inputs.missing.get_or_insert_with(|| required.clone());
        }
        answer
    }

    /// Waits for other input requests. All that come within the time go out together.
    async fn wait_for_batch(&self) {
        if !self.at_once {
            return;
        }
        let release = {
            let now = Instant::now();
            let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
            let release = inputs.release.filter(|at| *at > now).unwrap_or(now + BATCH_WINDOW);
            *inputs.release.insert(release)
        };
        sleep_until(release).await;
    }

    fn unique_key(&self, hint: Option<String>, method: &Method) -> String {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hint) = hint.filter(|hint| inputs.keys.insert(hint.clone())) {
            return hint;
        }
        loop {
            let key = self.context.number_input_request(method);
            if inputs.keys.insert(key.clone()) {
                return key;
            }
        }
    }
}

impl RequestHandler for CallRequestHandler {
    fn progress(&self, params: RawJson) {
        self.context.progress_raw(params);
    }

    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()> {
        Box::pin(self.context.log_raw(level, self.redaction.json(params)))
    }

    fn hang_up(&self, retry: Duration) {
        self.context.hang_up(retry);
    }

    fn ask(
        &self,
        input_request: gantry_client::InputRequest,
    ) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        let gantry_client::InputRequest { method, params, key } = input_request;
        let key = self.unique_key(key, &method);
        Box::pin(async move {
            self.wait_for_batch().await;
            let answer = self.request_input_as(&key, InputRequest { method, params }).await;
            answer.map_err(|error| refusal(&error))
        })
    }

    fn identity(&self) -> &str {
        self.identity.get_or_init(|| {
            let caller = self.context.caller();
            let client = caller.client_info.as_ref().map_or("", |info| info.as_str());
            let session = caller.session.as_deref().unwrap_or(client);
            format!("{}\n{session}", caller.principal)
        })
    }
}

fn refusal(error: &InputRequestError) -> InputRefusal {
    let text = error.to_string();
    match error {
        InputRequestError::Unsupported { .. } | InputRequestError::Inexpressible(_) => {
            InputRefusal::Unsupported(text)
        }
        InputRequestError::Refused { .. } => InputRefusal::Refused(text),
        InputRequestError::Unanswered(_) | InputRequestError::Gone => InputRefusal::Gone(text),
    }
}

/// An input request with the name of its server before what people read of it. Input requests to programs stay
/// as they are.
pub(super) fn with_server_name(server: &str, method: &Method, params: RawJson) -> RawJson {
    let message = params.get("message").and_then(|message| message.to_text());
    match message.filter(|_| *method == Method::Elicit) {
        Some(message) => {
            let message = RawJson::string(&format!("{server}: {message}"));
            params.edit().set("message", message).apply()
        }
        None => params,
    }
}

/// The same for all input requests of a reply, by key.
pub(super) fn with_server_names(server: &str, input_requests: &RawJson) -> RawJson {
    let mut named_all = ObjectWriter::with_capacity(input_requests.bytes().len() + 64);
    for member in input_requests.members() {
        let input_request = member.value();
        let method = input_request.get("method").and_then(|method| method.to_text());
        let named = match (method, input_request.get("params")) {
            (Some(method), Some(params)) => {
                let params = with_server_name(server, &Method::parse(&method), params);
                input_request.edit().set("params", params).apply()
            }
            _ => input_request,
        };
        named_all = named_all.raw(&member.key(), &named);
    }
    named_all.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstreams::tests::fixture::raw;

    #[test]
    fn people_are_told_who_asks() {
        let cases = [
            (
                r#"{"a":{"method":"elicitation/create","params":{"message":"Your key?","big":1.50}}}"#,
                r#"{"a":{"method":"elicitation/create","params":{"message":"one: Your key?","big":1.50}}}"#,
            ),
            (
                r#"{"a":{"method":"sampling/createMessage","params":{"message":"x"}},"b":{"method":"roots/list"}}"#,
                r#"{"a":{"method":"sampling/createMessage","params":{"message":"x"}},"b":{"method":"roots/list"}}"#,
            ),
            (
                r#"{"a":{"method":"elicitation/create","params":{}},"b":7}"#,
                r#"{"a":{"method":"elicitation/create","params":{}},"b":7}"#,
            ),
        ];
        for (input_requests, expected) in cases {
            assert_eq!(with_server_names("one", &raw(input_requests)).as_str(), expected);
        }
    }
}
