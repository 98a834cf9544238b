//! What serves calls: the [`Provider`] trait, the target of a call, and what a call results in.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::{RawJson, ResultObject};
use tokio::time::Instant;

use crate::call::Call;
use crate::catalog::Page;
use crate::context::CallContext;
use crate::entry::{Origin, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::error::CallError;
use crate::names::TargetNames;

/// Serves calls on what it published in the catalog.
///
/// A provider never sees a call for something it did not publish, nor one whose arguments do not
/// fit: the pipeline has been there before. The future is dropped when the client gives up.
pub trait Provider: Send + Sync + 'static {
    /// What this provider is called in logs and errors.
    fn name(&self) -> &str;

    /// How long it may work on a call for this, when that is not as long as usual.
    fn timeout(&self, target: &Target) -> Option<Duration> {
        target.timeout()
    }

    /// Serves one call. What the work needs of the call is taken from it before it begins.
    fn serve(&self, call: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome>;

    /// Hears which of its resources clients watch now, whenever that changes: those it listed and
    /// those that its templates cover. Must return at once; work belongs elsewhere.
    fn watched(&self, _uris: &BTreeSet<String>) {}

    /// Why a tool that nobody lists cannot be called, if this provider knows.
    fn absence(&self, _tool: &str) -> Option<Absence> {
        None
    }

    /// How complete its lists are.
    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    /// Waits until its lists are as complete as a client that lists should wait for, whose session,
    /// if it has one, first listed something then; none if they are now. Must end in due time,
    /// whether they are or not.
    fn listed(&self, _since: Option<Instant>) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// The next moment at which it may have listed what a call names and nobody has; none if that
    /// is not to be expected.
    fn next_listing(&self, _call: &Call) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Waits until the server of a target that is [cached](Target::is_cached) has listed what it has
    /// now, and that is published. The error says why it cannot.
    fn relisted(&self, _target: &Target) -> BoxFuture<'static, Result<(), CallError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Waits until the subscription to a resource is in effect at its provider. Must end in due time,
    /// whether they would or not.
    fn watching(&self, _uri: &str) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Why a tool that nobody lists cannot be called. Only who may see tools of its server is told.
#[derive(Debug)]
pub struct Absence {
    /// The server that the tool would be of.
    pub origin: Arc<Origin>,
    /// What to say.
    pub error: CallError,
}

/// How complete the lists of a provider are. The greater, the less is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Completeness {
    /// They hold all that it has.
    #[default]
    Complete,
    /// They lack what cannot be had at the moment, and was never known.
    Missing,
    /// They lack what is about to be listed.
    Starting,
}

/// A call whose target is known.
#[derive(Clone)]
pub struct Resolved {
    /// The call.
    pub call: Arc<Call>,
    /// What it is for.
    pub target: Target,
    /// Who serves it.
    pub provider: Arc<dyn Provider>,
}

/// What a call is for.
#[derive(Debug, Clone)]
pub enum Target {
    /// A tool.
    Tool(Arc<ToolEntry>),
    /// A resource that is listed.
    Resource(Arc<ResourceEntry>),
    /// A resource that a template covers, with its URI.
    Template(Arc<TemplateEntry>, String),
    /// A prompt.
    Prompt(Arc<PromptEntry>),
}

/// Tells whether a URI is covered by a template. The provider brings its own, since it is the
/// provider that must read the variables from the URI afterwards.
pub type Matcher = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Resolved {
    /// Bytes of its arguments. What grows with them is done by [`crate::offload`].
    pub fn size(&self) -> usize {
        self.call.head.arguments.as_ref().map_or(0, |it| it.bytes().len())
    }

    /// The arguments as policies must judge them: with the defaults with which the tool runs, also
    /// where its server fills them in and is sent only what the client gave. None for a call that
    /// has none.
    pub fn effective_arguments(&self) -> Option<RawJson> {
        let given = self.call.head.arguments.as_ref();
        match &self.target {
            // The pipeline has filled them in.
            Target::Tool(tool) if !tool.fill_defaults => Some(tool.effective_arguments(given)),
            _ => given.cloned(),
        }
    }
}

impl Target {
    /// All its names.
    pub fn names(&self) -> TargetNames<'_> {
        TargetNames::of(self)
    }

    /// How long its provider may work on a call, when that is not as long as usual.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Tool(tool) => tool.timeout,
            _ => None,
        }
    }

    /// When a client that can hang up while it waits may call back.
    pub(crate) fn call_back(&self) -> Option<Duration> {
        match self {
            Self::Tool(tool) => tool.call_back,
            _ => None,
        }
    }

    /// The upstream server that offers it, if any.
    pub fn origin(&self) -> Option<&Arc<Origin>> {
        match self {
            Self::Tool(tool) => tool.origin.as_ref(),
            Self::Resource(resource) => resource.origin.as_ref(),
            Self::Template(template, _) => template.origin.as_ref(),
            Self::Prompt(prompt) => prompt.origin.as_ref(),
        }
    }

    /// Whether its definition comes from a cache: its server has not listed it in this run.
    pub fn is_cached(&self) -> bool {
        match self {
            Self::Tool(tool) => tool.is_cached,
            Self::Prompt(prompt) => prompt.is_cached,
            Self::Resource(_) | Self::Template(..) => false,
        }
    }

    /// The whole definition.
    pub fn definition(&self) -> &RawJson {
        match self {
            Self::Tool(tool) => &tool.definition,
            Self::Resource(resource) => &resource.definition,
            Self::Template(template, _) => &template.definition,
            Self::Prompt(prompt) => &prompt.definition,
        }
    }

    /// The name or URI that clients use.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Resource(resource) => &resource.uri,
            Self::Template(_, uri) => uri,
            Self::Prompt(prompt) => &prompt.name,
        }
    }
}

impl std::fmt::Debug for Resolved {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Resolved")
            .field("call", &self.call)
            .field("target", &self.target)
            .field("provider", &self.provider.name())
            .finish()
    }
}

/// A call ends in a reply or an error.
pub type Outcome = Result<Reply, CallError>;

/// A successful end, in the newest form.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The result object.
    Result(ResultObject),
    /// A page of a list, shared with everyone who asks for it.
    Page(Arc<Page>),
    /// The provider cannot go on without answers from the client, and keeps nothing meanwhile.
    InputRequired(InputRequired),
}

impl Reply {
    /// A result object.
    pub fn result(raw: RawJson) -> Self {
        Self::Result(raw.into())
    }
}

/// What a provider needs before it can go on.
#[derive(Debug, Clone, Default)]
pub struct InputRequired {
    /// Questions by key, each `{method, params}`.
    pub requests: Option<RawJson>,
    /// State of the provider's own, to come back with the answers.
    pub state: Option<RawJson>,
}
