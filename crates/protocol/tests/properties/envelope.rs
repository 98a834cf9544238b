//! Whatever a peer sends is read or refused, never fatal; and what is written is read again.

use gantry_protocol::jsonrpc::{self, Incoming, Message, decode};
use gantry_protocol::{Id, JsonLimits};
use proptest::prelude::*;

use super::generate::{member, object_of, one_of, string, text};
use super::json;

/// Something like a message: the right members with right and wrong values.
fn nearly_a_message() -> BoxedStrategy<String> {
    let id = prop_oneof!["-?[0-9]{1,25}", string(), text()].boxed();
    let method = prop_oneof![one_of(&["\"ping\"", "\"tools/call\"", "\"\\u0070ing\""]), text()];
    object_of(
        vec![],
        vec![
            member("jsonrpc", one_of(&["\"2.0\"", "\"1.0\"", "2"])),
            member("id", id.clone()),
            member("id", id),
            member("method", method.boxed()),
            member("params", text()),
            member("result", text()),
            member("error", text()),
            member("other", text()),
        ],
    )
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(bytes, JsonLimits::default());
    }

    #[test]
    fn damaged_messages_are_read_or_refused(
        message in nearly_a_message(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = message.into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Err(error) = decode(bytes, JsonLimits::default()) {
            prop_assert!(!error.to_error().message.is_empty());
        }
    }

    // One level is an empty batch, which is refused whatever the limit.
    #[test]
    fn deep_nesting_is_refused(depth in 2usize..4000, limit in 1usize..200) {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        let limits = JsonLimits { depth: limit, ..JsonLimits::default() };
        prop_assert_eq!(decode(text, limits).is_ok(), depth <= limit);
    }

    #[test]
    fn what_is_written_is_read(
        id in prop_oneof!["-?(0|[1-9][0-9]{0,25})", string()],
        method in string(),
        params in proptest::option::of(object_of(vec![], vec![member("a", text())])),
    ) {
        let id = Id::new(json(&id)).expect("a string or a whole number");
        let method = json(&method).to_text().expect("a string");
        let params = params.map(|params| json(&params));
        let written = jsonrpc::request(&id, &method, params.as_ref());
        match decode(written, JsonLimits::default()) {
            Ok(Incoming::Single(Message::Request(read))) => {
                prop_assert_eq!(read.id.raw(), id.raw());
                prop_assert_eq!(read.method.as_str(), method);
                prop_assert_eq!(read.params, params);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn results_are_read_as_they_are_written(id in string(), result in text()) {
        let (id, result) = (Id::new(json(&id)).expect("a string"), json(&result));
        let written = jsonrpc::result(&id, &result);
        let pieces = written.clone().into_pieces().concat();
        prop_assert_eq!(&pieces, &written.clone().into_bytes());
        match decode(pieces, JsonLimits::default()) {
            Ok(Incoming::Single(Message::Response(read))) => {
                prop_assert_eq!(read.id, Some(id));
                prop_assert_eq!(read.outcome, Ok(result));
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

#[test]
fn damaged_envelopes_say_what_is_wrong() {
    let cases = [
        ("[]", "a batch must hold a message"),
        ("7", "a message must be a JSON object"),
        (r#"{"id":1,"method":"ping"}"#, "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "appears twice"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "`id` must be"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "`id` must be"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "`method` must be a string"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, "`params` must be an object"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "must have a `method`"),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "must have a `method`"),
        (r#"{"jsonrpc":"2.0","id":null,"result":1}"#, "must name its request"),
    ];
    for (text, reason) in cases {
        let error = decode(text, JsonLimits::default()).expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
