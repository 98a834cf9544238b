//! Lines are the same however their bytes are cut, and one too long does not spoil the next.
#![no_main]

use gantry_transport::lines::LineDecoder;
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 24;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let whole = decode([stream]);
    let pieces = decode(stream.chunks(usize::from(cut % 16) + 1));
    assert_eq!(whole, pieces);
    assert_eq!(whole, expected(stream));
});

/// All lines; none for one that was too long.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Option<Vec<u8>>> {
    let mut decoder = LineDecoder::new(LIMIT);
    let mut lines = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        lines.extend(std::iter::from_fn(|| decoder.next_line()));
    }
    lines.extend(decoder.finish());
    lines.into_iter().map(|line| line.ok().map(|line| line.to_vec())).collect()
}

/// The same, found the plain way.
fn expected(stream: &[u8]) -> Vec<Option<Vec<u8>>> {
    let lines = stream.split(|byte| *byte == b'\n');
    let read = lines.map(|line| (line.len() <= LIMIT).then(|| line.trim_ascii().to_vec()));
    read.filter(|line| line.as_ref().is_none_or(|line| !line.is_empty())).collect()
}
