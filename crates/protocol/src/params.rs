//! The members of a request's params that matter on its way, found in one pass.

use crate::json::{Duplicate, RawJson};

/// The members of a request's params that matter on its way. A call passes many hands; each takes
/// what it needs from here instead of searching the text again.
#[derive(Debug, Clone, Default)]
pub struct ParamsHead {
    /// `_meta`
    pub meta: Option<RawJson>,
    /// `name`, of a tool or prompt.
    pub name: Option<RawJson>,
    /// `uri`, of a resource.
    pub uri: Option<RawJson>,
    /// `arguments`
    pub arguments: Option<RawJson>,
    /// `inputResponses`, of a call that is taken up again.
    pub input_responses: Option<RawJson>,
    /// `requestState`, likewise.
    pub request_state: Option<RawJson>,
    /// `task`, what a client of 2025-11-25 that wants a task wants of it.
    pub task: Option<RawJson>,
    /// A member that stands there twice. Two readers could act on different values, so nobody
    /// should act on either.
    pub doubled: Option<Duplicate>,
}

impl ParamsHead {
    /// Finds the members.
    ///
    /// ```
    /// use gantry_protocol::{ParamsHead, RawJson};
    /// let head = ParamsHead::read(&RawJson::from_static(r#"{"name":"a","x":1,"name":"b"}"#));
    /// assert!(head.doubled.is_some());
    /// ```
    pub fn read(params: &RawJson) -> Self {
        let mut head = Self::default();
        for member in params.members() {
            let (slot, name) = match &*member.key_bytes() {
                b"_meta" => (&mut head.meta, "_meta"),
                b"name" => (&mut head.name, "name"),
                b"uri" => (&mut head.uri, "uri"),
                b"arguments" => (&mut head.arguments, "arguments"),
                b"inputResponses" => (&mut head.input_responses, "inputResponses"),
                b"requestState" => (&mut head.request_state, "requestState"),
                b"task" => (&mut head.task, "task"),
                _ => continue,
            };
            if slot.replace(member.value()).is_some() {
                head.doubled = Some(Duplicate(name));
            }
        }
        head
    }
}
