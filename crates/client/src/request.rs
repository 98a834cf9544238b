//! Requests to a server and its responses, in the newest form.

use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::headers::HeaderParam;
use gantry_protocol::{Level, Method, ParamsHead, RawJson, ResultObject, Trace};

/// A request in the newest form.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is wanted.
    pub method: Method,
    /// Its params. Hop-by-hop keys of `_meta` are written again.
    pub params: RawJson,
    /// The members of these that matter on the way, where they are known already.
    pub head: Option<ParamsHead>,
    /// What the one who asks can answer while the server works; a capabilities object.
    pub capabilities: RawJson,
    /// Who asks; the client itself if none is given.
    pub client_info: Option<RawJson>,
    /// Whether to hear of progress.
    pub wants_progress: bool,
    /// The least severe log message wanted; none for no messages.
    pub log_level: Option<Level>,
    /// Whether it may be repeated when its outcome is unknown: it only reads, or is idempotent.
    pub is_repeatable: bool,
    /// Arguments that are repeated in HTTP headers.
    pub headers: Arc<[HeaderParam]>,
    /// Input responses and request state for a modern server that required input before.
    pub input: InputRequired,
    /// How a server of 2025-11-25 is told that this may become a task.
    pub task: Option<TaskRequest>,
    /// The trace that a server on the web is told of in headers too.
    pub trace: Option<Arc<Trace>>,
    /// Idle timeout; that of the settings if none is given.
    pub silence: Option<Duration>,
    /// Total timeout; that of the settings if none is given.
    pub at_most: Option<Duration>,
}

/// That a call may become a task.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskRequest {
    /// How long its result should be kept.
    pub ttl: Option<Duration>,
}

/// In a response: input requests by key, and the server's request state. In a request: input
/// responses by key, and the same state.
#[derive(Debug, Clone, Default)]
pub struct InputRequired {
    /// Questions, or answers, by key.
    pub entries: Option<RawJson>,
    /// The server's own state, to come back as it is.
    pub state: Option<RawJson>,
}

/// What a server answers.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The result. One without `resultType` is of a legacy server.
    Complete(ResultObject),
    /// It requires input first (modern servers).
    InputRequired(InputRequired),
    /// It works on; the result is that of creating a task in the form of the tasks extension.
    Task(RawJson),
}

/// One of the four lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// All pages of a list.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// The definitions, in the newest form, as the server ordered them.
    pub items: Vec<RawJson>,
    /// How long they may be kept.
    pub ttl: Duration,
    /// Whether there was more than is allowed, or a page that could not be had.
    pub truncated: Option<String>,
}

impl Request {
    /// A request with no extras.
    pub fn new(method: Method, params: RawJson) -> Self {
        Self {
            is_repeatable: only_reads(&method),
            method,
            params,
            head: None,
            capabilities: RawJson::EMPTY_OBJECT,
            client_info: None,
            wants_progress: false,
            log_level: None,
            headers: Arc::default(),
            input: InputRequired::default(),
            task: None,
            trace: None,
            silence: None,
            at_most: None,
        }
    }
}

/// Whether a method changes nothing. Of a tool its definition says whether it does.
fn only_reads(method: &Method) -> bool {
    matches!(
        method,
        Method::Discover
            | Method::Ping
            | Method::ToolsList
            | Method::ResourcesList
            | Method::ResourceTemplatesList
            | Method::PromptsList
            | Method::ResourcesRead
            | Method::PromptsGet
            | Method::Complete
    )
}

impl List {
    /// The method that asks for it.
    pub fn method(self) -> Method {
        match self {
            Self::Tools => Method::ToolsList,
            Self::Resources => Method::ResourcesList,
            Self::Templates => Method::ResourceTemplatesList,
            Self::Prompts => Method::PromptsList,
        }
    }

    /// The member of the result that holds it.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The capability that a server with such a list declares.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources | Self::Templates => "resources",
            Self::Prompts => "prompts",
        }
    }
}
