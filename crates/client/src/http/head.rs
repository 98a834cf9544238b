//! The head of a response: what of it matters to us, and where its body ends.

use std::mem::MaybeUninit;
use std::time::{Duration, SystemTime};

use gantry_transport::http1::{Framing, Hints};
use http::{HeaderName, HeaderValue, StatusCode, header};
use httparse::{ParserConfig, Status};

const SESSION_ID: HeaderName = HeaderName::from_static(gantry_protocol::headers::SESSION_ID);

/// Headers that a response may have.
const HEADERS: usize = 100;

/// What a response begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// How it went.
    pub(crate) status: StatusCode,
    /// What the body is.
    pub(crate) kind: Kind,
    /// The session that the server began.
    pub(crate) session: Option<String>,
    /// Where the same thing is.
    pub(super) location: Option<String>,
    /// After which time the server wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
    /// What the server wants to know first.
    pub(super) challenge: Option<String>,
    /// Where the body ends.
    pub(super) framing: Framing,
    /// Whether the connection may be used again.
    pub(super) lasts: bool,
}

/// What the body of a response is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One JSON text.
    Json,
    /// Server-sent events.
    Events,
    /// The server does not say.
    Unsaid,
    /// Anything else.
    Other(String),
}

impl Head {
    /// Reads the head that the bytes begin with: how long it is, and what it says. None while it is
    /// not there as a whole. The error says what is wrong with it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(usize, Self)>, String> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let config = ParserConfig::default();
        let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        let length = match parsed {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or("the status is no number of three digits")?;
        let mut head = Self {
            status,
            kind: Kind::Unsaid,
            session: None,
            location: None,
            challenge: None,
            retry_after: None,
            framing: Framing::UntilClose,
            lasts: false,
        };
        let mut hints = Hints::default();
        for header in response.headers.iter() {
            hints.note(header.name, header.value)?;
            head.note(header);
        }
        let is_newest = response.version == Some(1);
        head.settle(&hints, is_newest)?;
        Ok(Some((length, head)))
    }

    fn note(&mut self, header: &httparse::Header<'_>) {
        let is = |name: &HeaderName| header.name.eq_ignore_ascii_case(name.as_str());
        let value = header.value.trim_ascii();
        if is(&header::CONTENT_TYPE) {
            self.kind = Kind::of(value);
        } else if is(&SESSION_ID) {
            self.session = text(value);
        } else if is(&header::LOCATION) {
            self.location = text(value);
        } else if is(&header::WWW_AUTHENTICATE) {
            self.challenge = text(value);
        } else if is(&header::RETRY_AFTER) {
            self.retry_after = text(value).and_then(|value| wait(&value, SystemTime::now()));
        }
    }

    fn settle(&mut self, hints: &Hints, is_newest: bool) -> Result<(), &'static str> {
        if hints.encoded && !hints.chunked {
            return Err("the body has a transfer coding other than `chunked`");
        }
        let empty = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        self.framing = match hints.length {
            _ if empty => Framing::Length(0),
            _ if hints.chunked => Framing::chunked(),
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        };
        // A body with both an encoding and a length may be two bodies to somebody in between.
        let clear = !(hints.encoded && hints.length.is_some());
        self.lasts = hints.lasts(is_newest) && clear && self.framing != Framing::UntilClose;
        Ok(())
    }
}

impl Kind {
    /// What the header `Content-Type` says.
    fn of(value: &[u8]) -> Self {
        let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Events
        } else {
            Self::Other(String::from_utf8_lossy(value).into_owned())
        }
    }
}

fn text(value: &[u8]) -> Option<String> {
    HeaderValue::from_bytes(value).ok()?.to_str().ok().map(str::to_owned)
}

/// What the header `Retry-After` says: seconds, or a date (RFC 9110, 10.2.3).
fn wait(value: &str, now: SystemTime) -> Option<Duration> {
    match value.bytes().all(|byte| byte.is_ascii_digit()) {
        true => value.parse().ok().map(Duration::from_secs),
        false => {
            let date = httpdate::parse_http_date(value).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(head: &str) -> Result<Option<Head>, String> {
        Head::read(head.as_bytes()).map(|read| read.map(|(_, head)| head))
    }

    #[test]
    fn where_a_body_ends_and_whether_the_connection_lasts() {
        let length = Framing::Length;
        for (head, framing, lasts) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", length(12), true),
            (
                "HTTP/1.1 200 OK\r\ncontent-length:12\r\ncontent-length: 12 \r\n\r\n",
                length(12),
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 12\r\nConnection: a, Close\r\n\r\n",
                length(12),
                false,
            ),
            ("HTTP/1.0 200 OK\r\ncontent-length: 12\r\n\r\n", length(12), false),
            (
                "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n",
                length(0),
                true,
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", length(0), true),
            ("HTTP/1.1 200\r\ntransfer-encoding: Chunked\r\n\r\n", Framing::chunked(), true),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n",
                Framing::chunked(),
                false,
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", Framing::UntilClose, false),
        ] {
            let read = read(head).unwrap().unwrap();
            assert_eq!((read.framing, read.lasts), (framing, lasts), "{head}");
        }
    }

    #[test]
    fn what_a_body_is() {
        for (value, expected) in [
            (None, Kind::Unsaid),
            (Some("application/json"), Kind::Json),
            (Some("Application/JSON ; charset=utf-8"), Kind::Json),
            (Some("text/event-stream;charset=utf-8"), Kind::Events),
            (Some("application/json-seq"), Kind::Other("application/json-seq".to_owned())),
            (Some(""), Kind::Other(String::new())),
        ] {
            let header = value.map_or_else(String::new, |it| format!("Content-Type: {it}\r\n"));
            let head = read(&format!("HTTP/1.1 200 OK\r\n{header}\r\n")).unwrap().unwrap();
            assert_eq!(head.kind, expected, "{value:?}");
        }
    }

    #[test]
    fn when_to_ask_again() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, expected) in [
            ("0", Some(0)),
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("99999999999999999999", None),
            ("soon", None),
        ] {
            assert_eq!(wait(value, now), expected.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn heads_that_are_none() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "two lengths"),
            ("HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n", "no number"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n", "no number"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n", "no number"),
            ("HTTP/1.1 099 OK\r\n\r\n", "three digits"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "transfer coding"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", "transfer coding"),
            ("SSH-2.0-OpenSSH\r\n", "HTTP version"),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "header name"),
        ] {
            let error = read(head).unwrap_err();
            assert!(error.contains(expected), "{head}: {error}");
        }
        assert_eq!(read("HTTP/1.1 200 OK\r\nx: y\r\n"), Ok(None));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_bad_to_be_judged(line in "[ -~]{0,40}", bytes in any::<Vec<u8>>()) {
            let _ = Head::read(&bytes);
            let mut text = format!("HTTP/1.1 200 OK\r\ncontent-length: {line}\r\n").into_bytes();
            text.extend_from_slice(&bytes);
            if let Ok(Some((length, _))) = Head::read(&text) {
                prop_assert!(length <= text.len());
            }
        }
    }
}
