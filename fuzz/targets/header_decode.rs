//! Any header value is read or refused; any text that was read can be sent and read again.
#![no_main]

use gantry_protocol::headers::{
    HeaderKind, HeaderParam, argument_value, check_argument, decode_value, encode_value,
};
use gantry_protocol::{JsonLimits, RawJson};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    comes_back(text);
    if let Ok(decoded) = decode_value(text) {
        comes_back(&decoded);
    }
    let Ok(value) = RawJson::parse(data.to_vec(), JsonLimits::default()) else {
        return;
    };
    for kind in [HeaderKind::String, HeaderKind::Integer, HeaderKind::Boolean] {
        let param = HeaderParam { header: "mcp-param-a".into(), path: vec!["a".into()], kind };
        let arguments = RawJson::EMPTY_OBJECT.edit().set("a", value.clone()).apply();
        let sent = argument_value(&param, Some(&arguments));
        let header = sent.as_deref().map(encode_value);
        assert_eq!(check_argument(&param, Some(&arguments), header.as_deref()), Ok(()));
    }
});

fn comes_back(text: &str) {
    let encoded = encode_value(text);
    assert_eq!(decode_value(&encoded).as_deref(), Ok(text));
}
