//! The client of a scenario: lists, calls tools, and answers what it is asked in between.

use std::error::Error;

use gantry_client::{
    Answer, Client, Endpoint, Event, HttpKind, InputRequired, List, Request, Settings, Target,
};
use gantry_protocol::headers::argument_headers;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};
use tokio::sync::mpsc;

use crate::answers::{self, Answers};

/// What this client can be asked.
const CAPABILITIES: RawJson =
    RawJson::from_static(r#"{"roots":{},"sampling":{},"elicitation":{"form":{}}}"#);
/// A server that asks more often than this in one call has lost its way.
const ROUNDS: usize = 10;
/// Events that may wait; nobody hears them.
const EVENTS: usize = 64;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A client and its server.
pub(crate) struct Player {
    client: Client,
    _events: mpsc::Receiver<Event>,
}

impl Player {
    /// A client of the server at `url`.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let target = Target::Http(Endpoint::new(url.parse()?), HttpKind::Auto);
        let settings = Settings { capabilities: CAPABILITIES, ..Settings::default() };
        let (sender, events) = mpsc::channel(EVENTS);
        Ok(Self { client: Client::new(target, settings, sender), _events: events })
    }

    /// Ends the connection.
    pub(crate) async fn leave(self) {
        self.client.stop().await;
    }

    /// The definitions of a list.
    pub(crate) async fn list(&self, list: List) -> Result<Vec<RawJson>> {
        Ok(self.client.list(list).await?.items)
    }

    /// The tools that can be called. One whose headers make no sense cannot.
    pub(crate) async fn tools(&self) -> Result<Vec<RawJson>> {
        let mut tools = self.list(List::Tools).await?;
        tools.retain(|tool| headers_of(tool).is_ok());
        Ok(tools)
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &RawJson, arguments: RawJson) -> Result<RawJson> {
        let params = ObjectWriter::new()
            .raw_some("name", tool.get("name").as_ref())
            .raw("arguments", &arguments)
            .finish();
        let headers = headers_of(tool)?.into();
        self.go(Request { headers, ..Request::new(Method::ToolsCall, params) }).await
    }

    /// Asks for one thing by its name.
    pub(crate) async fn ask(
        &self,
        method: Method,
        member: &str,
        name: Option<RawJson>,
    ) -> Result<RawJson> {
        let params = ObjectWriter::new().raw_some(member, name.as_ref()).finish();
        self.go(Request::new(method, params)).await
    }

    /// Asks, and answers, until there is a result.
    async fn go(&self, request: Request) -> Result<RawJson> {
        let mut request = Request { capabilities: CAPABILITIES, ..request };
        for _ in 0..ROUNDS {
            match self.client.request(&request, &Answers).await? {
                Answer::Complete(result) => return Ok(result.into_raw()),
                Answer::InputRequired(InputRequired { entries, state }) => {
                    let entries = entries.as_ref().map(answers::to_all);
                    request.input = InputRequired { entries, state };
                }
                Answer::Task(_) => return Err("the server made a task of a call".into()),
            }
        }
        Err(format!("{} asks for ever", request.method).into())
    }
}

fn headers_of(tool: &RawJson) -> Result<Vec<gantry_protocol::headers::HeaderParam>> {
    match tool.get("inputSchema") {
        Some(schema) => Ok(argument_headers(&schema)?),
        None => Ok(Vec::new()),
    }
}

/// The definition of that name.
pub(crate) fn find<'a>(tools: &'a [RawJson], name: &str) -> Result<&'a RawJson> {
    let named =
        |tool: &&RawJson| tool.get("name").and_then(|it| it.to_text()).as_deref() == Some(name);
    let found = tools.iter().find(named);
    found.ok_or_else(|| format!("the server has no tool `{name}`").into())
}
