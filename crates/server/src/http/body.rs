//! Bodies: what came with a request, and what is sent with an answer.

use std::fmt;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use http::StatusCode;

use super::write_timeout::WriteTimeout;

/// The body of a request, or why it could not be read: whoever serves it says so in its own words.
pub(crate) type Given = Result<Bytes, Unread>;

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) status: StatusCode,
    pub(crate) reason: String,
    /// Whether it is worth trying again soon.
    pub(crate) is_busy: bool,
}

impl Unread {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), is_busy: false }
    }

    /// Too much is being received already.
    pub(super) fn busy() -> Self {
        let reason = "too many bytes are being received; try again in a second";
        Self { is_busy: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, reason) }
    }
}

/// Serves what is no longer HTTP: the connection, and what already came of it.
pub(crate) type Upgrade = Box<dyn FnOnce(WriteTimeout, BytesMut) -> BoxFuture<'static, ()> + Send>;

/// What is sent.
pub(crate) enum Body {
    /// A few pieces, known in full.
    Pieces([Bytes; 3]),
    /// Events as they happen.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// Nothing; the connection is used for something else.
    Upgrade(Upgrade),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Pieces([Bytes::new(), Bytes::new(), Bytes::new()])
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Pieces([bytes.into(), Bytes::new(), Bytes::new()])
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pieces(pieces) => formatter.debug_tuple("Pieces").field(pieces).finish(),
            Self::Events(_) => formatter.write_str("Events"),
            Self::Upgrade(_) => formatter.write_str("Upgrade"),
        }
    }
}
