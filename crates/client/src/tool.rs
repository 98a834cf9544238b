//! A tool of a server, ready to be called.

use std::time::Duration;

use gantry_protocol::headers::{self, HeaderParam};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson, RpcError, code};
use tokio::time::{Instant, sleep};

use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::ClientError;
use crate::request::{Answer, InputRequired, List, Request};
use crate::request_handler::{InputRequest, NoopHandler, RequestHandler};

/// How often one call may ask for input by way of its answer.
const ROUNDS: usize = 16;

/// The pauses before a server is called again that asks for nothing but that.
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(100), at_most: Duration::from_secs(3) };

/// A tool of a server, ready to be called. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Tool {
    client: Client,
    name: String,
    definition: RawJson,
    headers: std::sync::Arc<[HeaderParam]>,
}

impl Client {
    /// The tools that the server lists. One whose annotations for HTTP headers are wrong is left
    /// out, as the protocol demands.
    pub async fn tools(&self) -> Result<Vec<Tool>, ClientError> {
        let listed = self.list(List::Tools).await?;
        Ok(listed.items.into_iter().filter_map(|item| Tool::of(self, item)).collect())
    }
}

impl Tool {
    fn of(client: &Client, definition: RawJson) -> Option<Self> {
        let name = definition.get("name")?.to_text()?;
        let schema = definition.get("inputSchema").unwrap_or(RawJson::EMPTY_OBJECT);
        match headers::argument_headers(&schema) {
            Ok(params) => {
                let headers = params.into();
                Some(Self { client: client.clone(), name, definition, headers })
            }
            Err(error) => {
                tracing::warn!(tool = name, %error, "a tool is left out");
                None
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, for the model.
    pub fn description(&self) -> Option<String> {
        self.definition.get("description")?.to_text()
    }

    /// What its arguments must look like.
    pub fn input_schema(&self) -> RawJson {
        self.definition.get("inputSchema").unwrap_or(RawJson::EMPTY_OBJECT)
    }

    /// All that its server says of it.
    pub fn definition(&self) -> &RawJson {
        &self.definition
    }

    /// Calls it, hearing and answering nothing meanwhile.
    pub async fn call(&self, arguments: RawJson) -> Result<RawJson, ClientError> {
        self.call_on(arguments, RawJson::EMPTY_OBJECT, &NoopHandler).await
    }

    /// Calls it for someone who hears of progress and answers questions; `capabilities` says which.
    /// A server that wants to be called again without an answer, because it has too much to do or
    /// works on, is after longer and longer pauses, for as long as a request may take in all.
    pub async fn call_on(
        &self,
        arguments: RawJson,
        capabilities: RawJson,
        handler: &dyn RequestHandler,
    ) -> Result<RawJson, ClientError> {
        let params = ObjectWriter::new().value("name", &self.name).raw("arguments", &arguments);
        let mut request = Request {
            capabilities,
            wants_progress: true,
            headers: self.headers.clone(),
            ..Request::new(Method::ToolsCall, params.finish())
        };
        let at_most = self.client.settings().at_most;
        let (mut rounds, mut slow_timer) = (0..ROUNDS, RepeatTimer::new(at_most));
        loop {
            let required = match self.client.request(&request, handler).await? {
                Answer::Complete(result) => return Ok(result.into_raw()),
                Answer::InputRequired(required) => required,
                Answer::Task(_) => {
                    let text = "the server made a task of the call, which was not asked for";
                    return Err(ClientError::Malformed(text.to_owned()));
                }
            };
            let asks = required.entries.as_ref().is_some_and(|it| it.members().next().is_some());
            request.input = if !asks {
                slow_timer.pause().await?;
                InputRequired { entries: None, state: required.state }
            } else if rounds.next().is_some() {
                let answered = answer(required, handler).await?;
                slow_timer = RepeatTimer::new(at_most);
                answered
            } else {
                let text = format!("the server asked for input more than {ROUNDS} times");
                return Err(ClientError::Malformed(text));
            };
        }
    }
}

/// How long a server is still called again, from its last question on.
struct RepeatTimer {
    since: Instant,
    at_most: Duration,
    pauses: u32,
}

impl RepeatTimer {
    fn new(at_most: Duration) -> Self {
        Self { since: Instant::now(), at_most, pauses: 0 }
    }

    /// Rests for longer than the last time, if there is time for it.
    async fn pause(&mut self) -> Result<(), ClientError> {
        self.pauses = self.pauses.saturating_add(1);
        let pause = PAUSES.after(self.pauses);
        if self.since.elapsed() + pause > self.at_most {
            return Err(ClientError::Timeout(self.at_most));
        }
        sleep(pause).await;
        Ok(())
    }
}

/// Answers what a server asks by way of its answer.
async fn answer(
    required: InputRequired,
    handler: &dyn RequestHandler,
) -> Result<InputRequired, ClientError> {
    let input_requests = required.entries.iter().flat_map(|entries| entries.members());
    let asked = input_requests.map(async |member| {
        let (key, entry) = (member.key().into_owned(), member.value());
        let method = entry.get("method").and_then(|it| it.to_text()).unwrap_or_default();
        let method = Method::parse(&method);
        let input_request =
            InputRequest { method, params: entry.get("params"), key: Some(key.clone()) };
        let refused = |text| ClientError::Answered(RpcError::new(code::INVALID_REQUEST, text));
        let answer =
            handler.ask(input_request).await.map_err(|refusal| refused(refusal.to_string()))?;
        Ok::<_, ClientError>((key, answer))
    });
    let answers = futures_util::future::try_join_all(asked).await?;
    let mut entries = ObjectWriter::new();
    for (key, answer) in &answers {
        entries = entries.raw(key, answer);
    }
    Ok(InputRequired { entries: Some(entries.finish()), state: required.state })
}

#[cfg(test)]
mod tests;
