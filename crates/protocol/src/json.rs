//! Raw JSON: validated text that is carried, looked into and edited without building a tree.

mod duplicate_keys;
mod edit;
mod flat;
mod members;
mod raw;
mod scan;
pub(crate) mod validate;

pub use edit::Edit;
pub(crate) use edit::put_string;
pub use flat::{FlatElements, FlatError, FlatJson, FlatMembers, FlatNode};
pub use members::{Ambiguity, Duplicate, Elements, Member, Members, is_same_but_for_case};
pub use raw::{JsonError, JsonKind, JsonLimits, RawJson};

/// Starts an object's text; members are added with [`ObjectWriter::raw`] and the like.
pub use writer::ObjectWriter;
mod writer;
