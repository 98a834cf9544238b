//! Server-sent events: written for clients, read from servers, with a bound on one event.

use bytes::{BufMut, Bytes, BytesMut};

/// A comment, which keeps a connection open and means nothing else.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its type; `message` when absent.
    pub name: Option<String>,
    /// Where to take up the stream again after it.
    pub id: Option<String>,
    /// How long to wait before that, in milliseconds.
    pub retry: Option<u64>,
    /// Its data.
    pub data: Bytes,
}

impl Event {
    /// An event that carries a message.
    pub fn message(data: Bytes) -> Self {
        Self { data, ..Self::default() }
    }

    /// The event as it goes over the wire. Names and ids must not hold ends of line.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.data.len() + 64);
        for (field, value) in [("event", &self.name), ("id", &self.id)] {
            if let Some(value) = value {
                put_field(&mut out, field, value.as_bytes());
            }
        }
        if let Some(retry) = self.retry {
            put_field(&mut out, "retry", retry.to_string().as_bytes());
        }
        for line in self.data.split(|byte| matches!(byte, b'\n' | b'\r')) {
            put_field(&mut out, "data", line);
        }
        out.put_u8(b'\n');
        out.freeze()
    }
}

fn put_field(out: &mut BytesMut, field: &str, value: &[u8]) {
    out.put_slice(field.as_bytes());
    out.put_slice(b": ");
    out.put_slice(value);
    out.put_u8(b'\n');
}

/// An event was longer than the limit; the stream cannot be trusted to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than the limit of {limit} bytes")]
pub struct EventTooLong {
    /// The limit in force.
    pub limit: usize,
}

/// Reads events from a stream of bytes cut anywhere.
#[derive(Debug)]
pub struct EventDecoder {
    buffer: BytesMut,
    searched: usize,
    limit: usize,
    event: Event,
    data: BytesMut,
    has_data: bool,
    /// The last byte was a carriage return: a newline right after it ends no second line.
    after_return: bool,
    begun: bool,
}

impl EventDecoder {
    /// Events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            event: Event::default(),
            data: BytesMut::new(),
            has_data: false,
            after_return: false,
            begun: false,
        }
    }

    /// Adds bytes as they come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event. One with an id or retry but no data is an event too: it tells where
    /// to take up the stream again.
    ///
    /// ```
    /// use gantry_transport::sse::EventDecoder;
    /// let mut decoder = EventDecoder::new(1024);
    /// decoder.feed(b": hello\nid: 7\ndata: {\"a\":\ndata: 1}\n\n");
    /// let event = decoder.next_event().unwrap().unwrap();
    /// assert_eq!((event.id.as_deref(), &event.data[..]), (Some("7"), &b"{\"a\":\n1}"[..]));
    /// ```
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLong> {
        while let Some(line) = self.next_line()? {
            if !line.is_empty() {
                self.take_field(&line)?;
                continue;
            }
            let mut event = std::mem::take(&mut self.event);
            event.data = self.data.split().freeze();
            let told =
                std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry.is_some();
            if told {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, EventTooLong> {
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer[0] == b'\n' {
                let _ = self.buffer.split_to(1);
                self.searched = 0;
            }
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return self.check_length(self.searched).map(|()| None);
        };
        let end = self.searched + found;
        self.searched = 0;
        self.check_length(end)?;
        let mut line = self.buffer.split_to(end + 1);
        self.after_return = line.last() == Some(&b'\r');
        line.truncate(end);
        Ok(Some(self.without_owner_tag(line.freeze())))
    }

    /// A byte order mark may open the stream.
    fn without_owner_tag(&mut self, line: Bytes) -> Bytes {
        if std::mem::replace(&mut self.begun, true) {
            return line;
        }
        match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => line.slice_ref(rest),
            None => line,
        }
    }

    fn take_field(&mut self, line: &[u8]) -> Result<(), EventTooLong> {
        let colon = memchr::memchr(b':', line);
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"event" => self.event.name = Some(text()),
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok().or(self.event.retry),
            b"data" => self.take_data(value)?,
            _ => {}
        }
        Ok(())
    }

    fn take_data(&mut self, value: &[u8]) -> Result<(), EventTooLong> {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.put_u8(b'\n');
        }
        self.check_length(self.data.len() + value.len())?;
        self.data.put_slice(value);
        Ok(())
    }

    fn check_length(&self, length: usize) -> Result<(), EventTooLong> {
        match length > self.limit {
            true => Err(EventTooLong { limit: self.limit }),
            false => Ok(()),
        }
    }
}
