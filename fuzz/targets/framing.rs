//! A body is the same however its bytes are cut, and comes out of its chunks as it went in.
#![no_main]

use bytes::BytesMut;
use gantry_transport::http1::{Framing, Step};
use libfuzzer_sys::fuzz_target;

/// Streams below this length stay below every bound on what stands beside chunks.
const SHORT: usize = 8 * 1024;

fuzz_target!(|data: &[u8]| {
    let [kind, cut, stream @ ..] = data else {
        return;
    };
    let framing = match kind % 3 {
        0 => Framing::chunked(),
        1 => Framing::Length(u64::from(*cut) * 8),
        _ => Framing::UntilClose,
    };
    let size = usize::from(cut % 32) + 1;
    let (whole, pieces) = (decode(framing, [stream]), decode(framing, stream.chunks(size)));
    if stream.len() < SHORT {
        assert_eq!(whole, pieces);
    }
    if let (Framing::Length(length), Ok((body, ended, left))) = (framing, &whole) {
        assert_eq!(body.len() as u64, length.min(stream.len() as u64));
        assert_eq!((*ended, body.len() + left), (body.len() as u64 == length, stream.len()));
    }
    let mut chunks = Vec::new();
    for part in stream.chunks(size) {
        chunks.extend_from_slice(format!("{:X}\r\n", part.len()).as_bytes());
        chunks.extend_from_slice(part);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\nGET / HTTP/1.1");
    let expected = (stream.to_vec(), true, b"GET / HTTP/1.1".len());
    assert_eq!(decode(Framing::chunked(), chunks.chunks(size)), Ok(expected));
});

/// The body, whether it has ended, and how many bytes are left behind it; or what is wrong.
fn decode<'a>(
    mut framing: Framing,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, bool, usize), &'static str> {
    let (mut bytes, mut body) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        bytes.extend_from_slice(piece);
        while let Step::Piece(piece) = framing.step(&mut bytes)? {
            body.extend_from_slice(&piece);
        }
    }
    Ok((body, framing.has_ended(), bytes.len()))
}
