//! Bodies: read within a limit, written in pieces or as a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::{HeaderMap, StatusCode, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::settings::Settings;

/// What is sent.
pub(crate) enum Body {
    /// A few pieces, known in full.
    Pieces([Bytes; 3]),
    /// Events as they happen.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Pieces([Bytes::new(), Bytes::new(), Bytes::new()])
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Pieces([bytes.into(), Bytes::new(), Bytes::new()])
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Pieces(pieces) => {
                let piece = pieces.iter_mut().find(|piece| !piece.is_empty());
                Poll::Ready(piece.map(|piece| Ok(Frame::data(std::mem::take(piece)))))
            }
            Self::Events(events) => {
                events.as_mut().poll_next(context).map(|it| it.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Pieces(pieces) => pieces.iter().all(Bytes::is_empty),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Pieces(pieces) => {
                SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum())
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// Reads a request's body.
pub(crate) async fn read(
    settings: &Settings,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Bytes, (StatusCode, String)> {
    let limit = settings.message.size;
    let too_large = || {
        (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than the limit of {limit} bytes"),
        )
    };
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > limit as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(settings.body_timeout, collect(body, limit)).await {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => Err(too_large()),
        Ok(Err(error)) => Err((StatusCode::BAD_REQUEST, format!("the body broke off: {error}"))),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".to_owned())),
    }
}

/// A body that is no larger than this is copied. It came in the memory that its connection reads into,
/// and a call that held that would have the connection take new memory for each request.
const COPIED: usize = 8 << 10;

/// Gathers a body; none when it is too large. Most come in one piece, and a large piece is not copied.
async fn collect(mut body: Incoming, limit: usize) -> Result<Option<Bytes>, hyper::Error> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > limit {
            return Ok(None);
        }
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
        // Who asks for more is told only later that there is none.
        if body.is_end_stream() {
            break;
        }
    }
    if rest.is_empty() {
        let small = first.len() <= COPIED;
        return Ok(Some(if small { Bytes::copy_from_slice(&first) } else { first }));
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(Some(whole.freeze()))
}
