//! The head of a response is read the same whatever follows it, and never before it is whole.
#![no_main]

use gantry_client::fuzzing::response_head;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let Ok(Some((length, head))) = response_head(stream) else {
        return;
    };
    let whole = &stream[..length];
    assert_eq!(response_head(whole), Ok(Some((length, head))));
    let part = length * usize::from(cut) / 256;
    assert_eq!(response_head(&whole[..part]), Ok(None), "half a head is none");
});
