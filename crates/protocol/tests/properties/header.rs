//! Header values come back as they went, and any bytes are read or refused.

use gantry_protocol::headers::{argument_headers, decode_value, encode_value};
use proptest::prelude::*;

use super::generate::{member, object_of, text};
use super::json;

proptest! {
    #[test]
    fn a_value_comes_back(text in any::<String>()) {
        let encoded = encode_value(&text);
        prop_assert!(encoded.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')));
        prop_assert_eq!(encoded.trim(), encoded.as_ref());
        prop_assert_eq!(decode_value(&encoded), Ok(text.as_str().into()));
    }

    #[test]
    fn a_value_in_marks_comes_back(inner in "[ -~]{0,12}") {
        let text = format!("=?base64?{inner}?=");
        let encoded = encode_value(&text);
        prop_assert_eq!(decode_value(&encoded), Ok(text.as_str().into()));
    }

    #[test]
    fn any_value_is_read_or_refused(value in any::<String>(), inner in "[A-Za-z0-9+/=]{0,12}") {
        let _ = decode_value(&value);
        let _ = decode_value(&format!("=?base64?{inner}?="));
    }

    #[test]
    fn any_schema_is_read_or_refused(schema in object_of(vec![], vec![
        member("properties", text()),
        member("x-mcp-header", text()),
        member("items", text()),
    ])) {
        let _ = argument_headers(&json(&schema));
    }
}
