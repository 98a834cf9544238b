//! The middle of Gantry: one era, one way to a tool.
//!
//! A door turns what it reads into a [`Call`], starts it, and steps through what happens while it
//! runs. The pipeline takes the call past every policy to the [`Provider`] that published its
//! target. Nothing here knows which revision the client speaks.

mod ask;
mod badge;
mod batch;
mod call;
mod caller;
mod catalog;
mod change;
pub mod contract;
mod current;
mod entry;
mod error;
mod events;
mod exchange;
mod failure;
mod gateway;
mod names;
mod outbox;
mod page;
pub mod pattern;
mod pipeline;
pub mod policy;
mod provider;
mod reply;
pub mod resource_uri;
mod running;
mod schema;
mod span;
mod version;
mod watching;

pub use ask::{Ask, AskError, Question};
pub use badge::Badge;
pub use batch::in_calls;
pub use call::{Call, Input};
pub use caller::{Caller, Scope};
pub use catalog::{Catalog, Listing, Publisher, Snapshot, SortedMap, ToolVersions};
pub use change::{Change, Class, changes, demanded, suffices};
pub use current::with_current;
pub use entry::{
    Effect, EntryError, Origin, Own, PromptEntry, ResourceEntry, TOOL_META, TaskSupport,
    TemplateEntry, ToolEntry,
};
pub use error::{Blame, CallError, ErrorKind};
pub use events::{Event, Hearers, Interest, Subscription};
pub use exchange::{CallNumber, Exchange, Progress};
pub use failure::ErrorDetail;
pub use gantry_protocol::Trace;
pub use gateway::{Description, Gateway, GatewayBuilder, Identity, Offered, Settings};
pub use names::{
    AddressAlias, CanonicalName, ClientNames, LONGEST_NAME, NameStyle, SHORTEST_NAME, TargetKind,
    TargetNames, contract_name, qualified,
};
pub use outbox::Notice;
pub use page::{ListKind, Page};
pub use pipeline::{Pipeline, STAGES};
pub use policy::{Histogram, ToolStatistics};
pub use provider::{Absence, Completeness, Matcher, Provider, Resolved, Target};
pub use reply::{InputRequired, Outcome, Reply};
pub use running::{Running, Step};
pub use schema::{Schema, SchemaError, SchemaLimits, Subject, Violation, Violations};
pub use span::Span;
pub use version::{Version, VersionError};
pub use watching::{TooManyWatched, Watched};
