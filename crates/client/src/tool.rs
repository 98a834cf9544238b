//! A tool of a server, ready to be called.

use gantry_protocol::headers::{self, HeaderParam};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson, RpcError, code};

use crate::client::Client;
use crate::error::ClientError;
use crate::line::{Line, Question, Silent};
use crate::request::{Answer, InputRequired, List, Request};

/// How often one call may ask for input by way of its answer.
const ROUNDS: usize = 16;

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
        self.call_on(arguments, RawJson::EMPTY_OBJECT, &Silent).await
    }

    /// Calls it for someone who hears of progress and answers questions; `capabilities` says which.
    pub async fn call_on(
        &self,
        arguments: RawJson,
        capabilities: RawJson,
        line: &dyn Line,
    ) -> Result<RawJson, ClientError> {
        let params = ObjectWriter::new().value("name", &self.name).raw("arguments", &arguments);
        let mut request = Request {
            capabilities,
            wants_progress: true,
            headers: self.headers.clone(),
            ..Request::new(Method::ToolsCall, params.finish())
        };
        for _ in 0..ROUNDS {
            match self.client.request(&request, line).await? {
                Answer::Complete(result) => return Ok(result.into_raw()),
                Answer::InputRequired(required) => request.input = answer(required, line).await?,
                Answer::Task(_) => {
                    let text = "the server made a task of the call, which was not asked for";
                    return Err(ClientError::Malformed(text.to_owned()));
                }
            }
        }
        Err(ClientError::Malformed(format!("the server asked for input more than {ROUNDS} times")))
    }
}

/// Answers what a server asks by way of its answer.
async fn answer(required: InputRequired, line: &dyn Line) -> Result<InputRequired, ClientError> {
    let questions = required.entries.iter().flat_map(|entries| entries.members());
    let asked = questions.map(async |member| {
        let (key, entry) = (member.key().into_owned(), member.value());
        let method = entry.get("method").and_then(|it| it.to_text()).unwrap_or_default();
        let method = Method::parse(&method);
        let question = Question { method, params: entry.get("params"), key: Some(key.clone()) };
        let refused = |text| ClientError::Answered(RpcError::new(code::INVALID_REQUEST, text));
        let answer = line.ask(question).await.map_err(|refusal| refused(refusal.to_string()))?;
        Ok::<_, ClientError>((key, answer))
    });
    let answers = futures_util::future::try_join_all(asked).await?;
    let mut entries = ObjectWriter::new();
    for (key, answer) in &answers {
        entries = entries.raw(key, answer);
    }
    Ok(InputRequired { entries: Some(entries.finish()), state: required.state })
}
