//! The members of a request's params that the gateway reads, found in one pass.

use crate::json::{Ambiguity, Duplicate, RawJson, is_same_but_for_case};

/// The members that are found, and one that only completion has.
const KNOWN: [&str; 8] =
    ["_meta", "name", "uri", "arguments", "inputResponses", "requestState", "task", "ref"];

/// The members of a request's params that routing, policy and transport need. They are found once and
/// travel with the call, instead of one search of the text for each layer.
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
    /// `inputResponses`, of a call that continues after input requests.
    pub input_responses: Option<RawJson>,
    /// `requestState`, likewise.
    pub request_state: Option<RawJson>,
    /// `task`, what a client of 2025-11-25 that wants a task wants of it.
    pub task: Option<RawJson>,
    /// A duplicate key, or one that differs only in case, `name` and `Name`. Two
    /// readers could act on different values, so nobody should act on either.
    pub ambiguous: Option<Ambiguity>,
    /// A member that an object in `arguments` has twice. Found here, where a large request is read on
    /// a thread of its own.
    pub doubled: Option<Box<str>>,
}

impl ParamsHead {
    /// Finds the members.
    ///
    /// ```
    /// use gantry_protocol::{ParamsHead, RawJson};
    /// let head = ParamsHead::read(&RawJson::from_static(r#"{"name":"a","x":1,"name":"b"}"#));
    /// assert!(head.ambiguous.is_some());
    /// ```
    pub fn read(params: &RawJson) -> Self {
        let mut head = Self::default();
        for member in params.members() {
            let key = member.key_bytes();
            let (slot, name) = match &*key {
                b"_meta" => (&mut head.meta, "_meta"),
                b"name" => (&mut head.name, "name"),
                b"uri" => (&mut head.uri, "uri"),
                b"arguments" => (&mut head.arguments, "arguments"),
                b"inputResponses" => (&mut head.input_responses, "inputResponses"),
                b"requestState" => (&mut head.request_state, "requestState"),
                b"task" => (&mut head.task, "task"),
                b"ref" => continue,
                other => {
                    // Some readers take no notice of case, and the last of two members.
                    let known = KNOWN.iter().find(|known| is_same_but_for_case(other, known));
                    if let Some(known) = known {
                        head.ambiguous = Some(Ambiguity::OtherCase(known));
                    }
                    continue;
                }
            };
            if slot.replace(member.value()).is_some() {
                head.ambiguous = Some(Ambiguity::Twice(Duplicate(name)));
            }
        }
        head.doubled = head.arguments.as_ref().and_then(RawJson::duplicate_key).map(Into::into);
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_two_readers_read_differently() {
        let cases = [
            (r#"{"name":"a","arguments":{},"x":1}"#, None),
            (r#"{"name":"a","names":"b","nam":"c","na\u0000me":"d"}"#, None),
            (r#"{"name":"a","name":"b"}"#, Some("`name` appears more than once")),
            (r#"{"name":"a","n\u0061me":"b"}"#, Some("`name` appears more than once")),
            (r#"{"name":"a","Name":"b"}"#, Some("like `name` but for")),
            (r#"{"NAME":"b","name":"a"}"#, Some("like `name` but for")),
            (r#"{"name":"a","N\u0061me":"b"}"#, Some("like `name` but for")),
            (r#"{"Name":"a"}"#, Some("like `name` but for")),
            (r#"{"uri":"a","Uri":"b"}"#, Some("like `uri` but for")),
            (r#"{"uri":"a","ur\u0131":"b"}"#, Some("like `uri` but for")),
            (r#"{"arguments":{},"argument\u017f":{}}"#, Some("like `arguments` but for")),
            (r#"{"name":"a","tas\u212a":{}}"#, Some("like `task` but for")),
            (r#"{"name":"a","_META":{}}"#, Some("like `_meta` but for")),
            (r#"{"ref":{},"Ref":{}}"#, Some("like `ref` but for")),
        ];
        for (params, expected) in cases {
            let head = ParamsHead::read(&RawJson::from_static(params));
            let told = head.ambiguous.map(|it| it.to_string());
            match expected {
                None => assert_eq!(told, None, "{params}"),
                Some(part) => assert!(told.is_some_and(|it| it.contains(part)), "{params}"),
            }
        }
    }
}
