//! Follows the frames of a WebSocket client byte by byte, without their payload, to count the bytes
//! of a message that is not complete yet.

/// The longest frame header: two bytes, a length of eight, a mask of four.
const MAX_HEADER: usize = 14;
/// The bit of the last frame of a message.
const FIN: u8 = 0x80;
/// The bit of control frames, which may come between two frames of a message.
const CONTROL: u8 = 0x08;

/// The position of a client in its frames.
#[derive(Debug, Default)]
pub(super) struct FrameMeter {
    header: [u8; MAX_HEADER],
    /// Bytes of the header that were received.
    known: usize,
    /// Bytes of the payload that were not.
    left: u64,
    /// Bytes of earlier frames of the same message.
    before: u64,
    /// Bytes of this frame.
    frame: u64,
}

impl FrameMeter {
    /// Adds received bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len() as u64);
                self.left -= taken;
                self.frame += taken;
                bytes = bytes.get(usize::try_from(taken).unwrap_or(usize::MAX)..).unwrap_or(&[]);
            } else {
                self.header[self.known] = *first;
                self.known += 1;
                self.frame += 1;
                bytes = rest;
                if self.known < self.header_length() {
                    continue;
                }
                self.left = self.length();
            }
            if self.left == 0 {
                self.end_frame();
            }
        }
    }

    /// Bytes of the frame or message that is not complete yet.
    pub(super) fn unfinished(&self) -> u64 {
        self.before.saturating_add(self.frame)
    }

    fn header_length(&self) -> usize {
        let length = match self.header[1] & 0x7f {
            _ if self.known < 2 => return 2,
            126 => 4,
            127 => 10,
            _ => 2,
        };
        length + if self.header[1] & 0x80 == 0 { 0 } else { 4 }
    }

    fn length(&self) -> u64 {
        let [_, second, long @ ..] = self.header;
        match second & 0x7f {
            126 => u16::from_be_bytes([long[0], long[1]]).into(),
            127 => long[..8].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
            length => length.into(),
        }
    }

    fn end_frame(&mut self) {
        let is_message_part = self.header[0] & CONTROL == 0;
        if is_message_part {
            let is_last = self.header[0] & FIN != 0;
            self.before = if is_last { 0 } else { self.before.saturating_add(self.frame) };
        }
        (self.known, self.frame) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as clients send it.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match length {
            0..126 => frame.push(0x80 | length as u8),
            126..65536 => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            _ => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(vec![0xff; 4 + length]);
        frame
    }

    #[test]
    fn what_is_not_complete_is_counted_and_pings_do_not_hide_it() {
        let (text, part, rest, ping) = (0x81, 0x01, 0x00, 0x89);
        // Frames (first byte, length), how many bytes are missing, and what is counted.
        type Case<'a> = (&'a [(u8, usize)], usize, u64);
        let cases: [Case<'_>; 9] = [
            (&[(text, 5)], 0, 0),
            (&[(text, 5)], 1, 10),
            (&[(text, 300), (text, 70_000)], 0, 0),
            (&[(text, 70_000)], 1, 70_013),
            (&[(part, 10)], 0, 16),
            (&[(part, 10), (ping, 0)], 0, 16),
            (&[(part, 10), (ping, 4), (rest, 200)], 0, 16 + 208),
            (&[(part, 10), (ping, 4), (0x80, 200)], 0, 0),
            (&[(ping, 0)], 1, 5),
        ];
        for (frames, short, expected) in cases {
            let bytes: Vec<u8> = frames.iter().flat_map(|it| frame(it.0, it.1)).collect();
            let bytes = &bytes[..bytes.len() - short];
            for size in [1, 3, 7, 4096, bytes.len()] {
                let mut meter = FrameMeter::default();
                bytes.chunks(size).for_each(|piece| meter.feed(piece));
                assert_eq!(meter.unfinished(), expected, "{frames:?} in pieces of {size}");
            }
        }
    }
}
