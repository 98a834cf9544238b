//! The core of the gateway: the catalog, the policy pipeline, and the interface between servers that
//! speak to clients and providers that have tools.
//!
//! A listener turns a request into a [`Call`], starts it with [`Gateway::start`], and polls the
//! [`CallStream`]. The pipeline takes the call through every filter to the [`Provider`] that published
//! its target. Nothing here knows which protocol revision the client speaks, and nothing knows HTTP.

mod batch;
mod call;
mod call_stream;
mod caller;
mod catalog;
mod context;
pub mod contract;
mod entry;
mod error;
mod error_detail;
mod events;
pub mod filter;
mod gateway;
pub mod glob;
mod input_request;
mod metrics;
mod names;
mod pipeline;
mod provider;
pub mod resource_uri;
mod schema;
mod schema_compat;
mod subscriptions;
mod telemetry;
mod version;

pub use crate::batch::in_calls;
pub use crate::call::{Call, Input};
pub use crate::call_stream::{CallEvent, CallNotification, CallStream};
pub use crate::caller::{Caller, Scope, TokenLease};
pub use crate::catalog::{
    Catalog, ListKind, Listing, Page, Publisher, Snapshot, SortedMap, ToolVersions,
};
pub use crate::context::{CallContext, CallNumber, Progress};
pub use crate::entry::{
    Effect, EntryError, Origin, PromptEntry, ResourceEntry, TOOL_META, TaskSupport, TemplateEntry,
    ToolEntry, UpstreamDefinition,
};
pub use crate::error::{Blame, CallError, ErrorKind};
pub use crate::error_detail::ErrorDetail;
pub use crate::events::{Event, Interest, Recipients, Subscription};
pub use crate::gateway::{
    Description, Gateway, GatewayBuilder, OptionalCapabilities, ServerInfo, Settings,
};
pub use crate::input_request::{InputRequest, InputRequestError, PendingInputRequest};
pub use crate::metrics::{Histogram, Metrics, OutcomeClass, ToolStatistics};
pub use crate::names::{
    AddressAlias, CanonicalName, ClientNames, LONGEST_NAME, NameStyle, SHORTEST_NAME, TargetKind,
    TargetNames, contract_name, qualified,
};
pub use crate::pipeline::{Pipeline, STAGES, check_arguments_early};
pub use crate::provider::{
    Absence, Completeness, InputRequired, Matcher, Outcome, Provider, Reply, Resolved, Target,
};
pub use crate::schema::{Schema, SchemaError, SchemaLimits, Subject, Violation, Violations};
pub use crate::schema_compat::{ChangeClass, DefinitionChange, changes, demanded, suffices};
pub use crate::subscriptions::{TooManyWatched, Watched};
pub use crate::telemetry::{Span, with_current};
pub use crate::version::{Version, VersionError};
pub use gantry_protocol::Trace;
pub use gantry_transport::{LARGE, Offload, offload};
