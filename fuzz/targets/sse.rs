//! Events are the same however their bytes are cut, and what is read can be written again.
#![no_main]

use gantry_transport::sse::{Event, EventDecoder, EventTooLong};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let limit = 256;
    let whole = decode(limit, [stream]);
    let pieces = decode(limit, stream.chunks(usize::from(cut % 16) + 1));
    assert_eq!(whole, pieces);
    for event in whole.0 {
        assert_eq!(decode(4096, [event.encode().as_ref()]), (vec![event], None));
    }
});

/// All events, and the error that ended the stream.
fn decode<'a>(
    limit: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Option<EventTooLong>) {
    let mut decoder = EventDecoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => return (events, Some(error)),
            }
        }
    }
    (events, None)
}
