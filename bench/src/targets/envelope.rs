//! What a hop must know of a message: which one it is, and what it asks for. The rest is passed over.

use std::borrow::Cow;

use serde::Deserialize;

/// The members that a hop reads.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    pub(super) id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

impl<'a> Envelope<'a> {
    /// Reads a message; nothing if it is none.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// Whether it asks for something, and for what it should.
    pub(super) fn is_request(&self) -> bool {
        let named = self.params.as_ref().is_some_and(|params| params.name.is_some());
        match self.method.as_deref() {
            Some("tools/call") => named,
            Some(_) => true,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_needs_a_name() {
        for (message, expected) in [
            (r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}"#, Some(true)),
            (r#"{"id":1,"method":"tools/call","params":{}}"#, Some(false)),
            (r#"{"method":"ping"}"#, Some(true)),
            (r#"{"id":1,"result":{}}"#, Some(false)),
            ("no", None),
        ] {
            let read = Envelope::read(message.as_bytes());
            assert_eq!(read.map(|envelope| envelope.is_request()), expected, "{message}");
        }
    }
}
