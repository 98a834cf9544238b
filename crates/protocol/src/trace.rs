//! W3C trace context: the trace that a request is a part of, read strictly from `_meta` or headers.

use std::fmt;

use crate::json::RawJson;

/// The key of `_meta`, and the header, that names the trace and the caller's part of it.
pub const TRACEPARENT: &str = "traceparent";
/// The key of `_meta`, and the header, with what tracing systems add to it.
pub const TRACESTATE: &str = "tracestate";

/// Bytes of `tracestate` that are carried; a longer one is dropped, as the recommendation allows.
const LONGEST_STATE: usize = 512;
/// Bytes of `traceparent` that are read. Later versions may be longer than the first one.
const LONGEST_PARENT: usize = 256;
/// Bytes of `traceparent` that every version has.
const PARENT: usize = 55;

/// The trace that a request is a part of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// `traceparent`
    pub parent: String,
    /// `tracestate`
    pub state: Option<String>,
}

/// A parsed `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: u128,
    /// The span of the caller in it.
    pub span: u64,
    /// Whether the caller records its span.
    pub sampled: bool,
}

impl Trace {
    /// The trace that these two name; none if the first is malformed. A `tracestate` that is
    /// malformed is left out.
    ///
    /// ```
    /// use gantry_protocol::Trace;
    /// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let trace = Trace::read(parent, Some("vendor=1")).unwrap();
    /// assert_eq!(trace.id(), "0af7651916cd43dd8448eb211c80319c");
    /// assert_eq!(Trace::read("00-0-0-01", None), None);
    /// ```
    pub fn read(parent: &str, state: Option<&str>) -> Option<Self> {
        TraceParent::parse(parent)?;
        let state = state.map(str::trim).filter(|state| is_state(state));
        Some(Self { parent: parent.to_owned(), state: state.map(str::to_owned) })
    }

    /// The trace that the two members of a `_meta` name.
    pub fn of_meta(parent: Option<&RawJson>, state: Option<&RawJson>) -> Option<Self> {
        let parent = parent?.to_text()?;
        Self::read(&parent, state.and_then(RawJson::to_text).as_deref())
    }

    /// The id of the trace, 32 digits.
    pub fn id(&self) -> &str {
        self.parent.get(3..35).unwrap_or_default()
    }
}

impl TraceParent {
    /// Reads a `traceparent` (W3C Trace Context, 3.2).
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let has_form = (PARENT..=LONGEST_PARENT).contains(&bytes.len())
            && [2, 35, 52].iter().all(|place| bytes[*place] == b'-');
        if !has_form {
            return None;
        }
        let version = hex(bytes, 0, 2)?;
        // The first version ends here; any later one may go on after a dash.
        let ends = bytes.len() == PARENT || (version > 0 && bytes[PARENT] == b'-');
        let trace = (u128::from(hex(bytes, 3, 16)?) << 64) | u128::from(hex(bytes, 19, 16)?);
        let span = hex(bytes, 36, 16)?;
        let flags = hex(bytes, 53, 2)?;
        let is_valid = version != 0xff && ends && trace != 0 && span != 0;
        is_valid.then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, sampled } = self;
        write!(formatter, "00-{trace:032x}-{span:016x}-{:02x}", u8::from(*sampled))
    }
}

/// Digits, as the recommendation wants them: lower case only.
fn hex(bytes: &[u8], start: usize, count: usize) -> Option<u64> {
    bytes.get(start..start + count)?.iter().try_fold(0, |value, byte| match byte {
        b'0'..=b'9' => Some((value << 4) | u64::from(byte - b'0')),
        b'a'..=b'f' => Some((value << 4) | u64::from(byte - b'a' + 10)),
        _ => None,
    })
}

fn is_state(state: &str) -> bool {
    (1..=LONGEST_STATE).contains(&state.len())
        && state.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn what_names_a_trace() {
        let cases = [
            (format!("00-{TRACE}-b7ad6b7169203331-01"), Some(true)),
            (format!("00-{TRACE}-b7ad6b7169203331-00"), Some(false)),
            (format!("00-{TRACE}-b7ad6b7169203331-ff"), Some(true)),
            (format!("cc-{TRACE}-b7ad6b7169203331-01-more"), Some(true)),
            (format!("cc-{TRACE}-b7ad6b7169203331-01"), Some(true)),
            (format!("cc-{TRACE}-b7ad6b7169203331-01.more"), None),
            (format!("00-{TRACE}-b7ad6b7169203331-01-more"), None),
            (format!("ff-{TRACE}-b7ad6b7169203331-01"), None),
            (format!("00-{TRACE}-0000000000000000-01"), None),
            (format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)), None),
            (format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()), None),
            (format!("00_{TRACE}_b7ad6b7169203331_01"), None),
            (format!("00-{TRACE}-b7ad6b7169203331-0"), None),
            (format!("00-{TRACE}-b7ad6b7169203331-0g"), None),
            (format!(" 00-{TRACE}-b7ad6b7169203331-01"), None),
            (format!("01-{TRACE}-b7ad6b7169203331-01-{}", "x".repeat(300)), None),
            (format!("00-{}é-b7ad6b7169203331-01", &TRACE[..30]), None),
            (String::new(), None),
        ];
        for (text, sampled) in cases {
            let read = TraceParent::parse(&text);
            assert_eq!(read.map(|it| it.sampled), sampled, "{text}");
            assert_eq!(Trace::read(&text, None).is_some(), sampled.is_some(), "{text}");
        }
    }

    #[test]
    fn written_as_it_is_read() {
        let text = format!("00-{TRACE}-b7ad6b7169203331-01");
        assert_eq!(TraceParent::parse(&text).unwrap().to_string(), text);
    }

    #[test]
    fn a_state_that_is_malformed_is_left_out() {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let long = "x".repeat(513);
        let cases = [(" a=1,b=2 ", Some("a=1,b=2")), ("", None), ("a=\u{1}", None), (&long, None)];
        for (state, kept) in cases {
            let trace = Trace::read(&parent, Some(state)).unwrap();
            assert_eq!(trace.state.as_deref(), kept, "{state}");
        }
    }
}
