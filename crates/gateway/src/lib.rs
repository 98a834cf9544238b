//! The middle of Gantry: one era, one way to a tool.
//!
//! A door turns what it reads into a [`Call`], starts it, and steps through what happens while it
//! runs. The pipeline takes the call past every policy to the [`Provider`] that published its
//! target. Nothing here knows which revision the client speaks.

mod batch;
mod call;
mod call_stream;
mod caller;
mod catalog;
mod context;
pub mod contract;
mod current;
mod entry;
mod error;
mod event_queue;
mod events;
mod failure;
mod gateway;
mod input_request;
mod lease;
mod names;
mod page;
pub mod pattern;
mod pipeline;
pub mod policy;
mod provider;
mod reply;
pub mod resource_uri;
mod schema;
mod schema_compat;
mod span;
mod version;
mod watching;

pub use batch::in_calls;
pub use call::{Call, Input};
pub use call_stream::{CallEvent, CallStream};
pub use caller::{Caller, Scope};
pub use catalog::{Catalog, Listing, Publisher, Snapshot, SortedMap, ToolVersions};
pub use context::{CallContext, CallNumber, Progress};
pub use current::with_current;
pub use entry::{
    Effect, EntryError, Origin, PromptEntry, ResourceEntry, TOOL_META, TaskSupport, TemplateEntry,
    ToolEntry, UpstreamDefinition,
};
pub use error::{Blame, CallError, ErrorKind};
pub use event_queue::CallNotification;
pub use events::{Event, Interest, Recipients, Subscription};
pub use failure::ErrorDetail;
pub use gantry_protocol::Trace;
pub use gateway::{
    Description, Gateway, GatewayBuilder, OptionalCapabilities, ServerInfo, Settings,
};
pub use input_request::{InputRequest, InputRequestError, PendingInputRequest};
pub use lease::TokenLease;
pub use names::{
    AddressAlias, CanonicalName, ClientNames, LONGEST_NAME, NameStyle, SHORTEST_NAME, TargetKind,
    TargetNames, contract_name, qualified,
};
pub use page::{ListKind, Page};
pub use pipeline::{Pipeline, STAGES};
pub use policy::{Histogram, ToolStatistics};
pub use provider::{Absence, Completeness, Matcher, Provider, Resolved, Target};
pub use reply::{InputRequired, Outcome, Reply};
pub use schema::{Schema, SchemaError, SchemaLimits, Subject, Violation, Violations};
pub use schema_compat::{ChangeClass, DefinitionChange, changes, demanded, suffices};
pub use span::Span;
pub use version::{Version, VersionError};
pub use watching::{TooManyWatched, Watched};
