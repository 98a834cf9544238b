//! The head of a request is read the same whatever follows it, never before it is whole, and never
//! if somebody else could read it in another way.
#![no_main]

use gantry_server::fuzzing::{RequestHead, request_head};
use gantry_transport::http1::Framing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let Ok(Some(head)) = request_head(stream) else {
        return;
    };
    let whole = &stream[..head.length];
    assert_eq!(request_head(whole).as_ref(), Ok(&Some(head.clone())));
    let part = head.length * usize::from(cut) / 256;
    assert_eq!(request_head(&whole[..part]), Ok(None), "half a head is none");
    assert!(whole.ends_with(b"\r\n\r\n"));
    let feeds = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    assert!(feeds.into_iter().all(|(at, _)| at > 0 && whole[at - 1] == b'\r'));
    for name in ["host", "origin", "authorization", "content-length", "transfer-encoding"] {
        assert!(count(&head, name) <= 1, "{name}");
    }
    let framed = count(&head, "content-length") + count(&head, "transfer-encoding");
    assert!(framed <= 1, "a body ends in one way");
    match head.framing {
        Framing::Length(0) => {}
        Framing::Length(_) => assert_eq!(count(&head, "content-length"), 1),
        Framing::Chunked(_) => assert_eq!(count(&head, "transfer-encoding"), 1),
        Framing::UntilClose => panic!("a request does not end with its connection"),
    }
    assert!(head.target.starts_with(['/', '*']));
});

fn count(head: &RequestHead, name: &str) -> usize {
    head.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).count()
}
