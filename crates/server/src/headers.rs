//! The headers that are looked at for each request, with their names made once.

use gantry_protocol::{headers, trace};
use http::header::{AsHeaderName, HeaderMap, HeaderName};

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
pub(crate) const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
pub(crate) const NAME: HeaderName = HeaderName::from_static(headers::NAME);
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static(trace::TRACEPARENT);
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static(trace::TRACESTATE);

/// The value of a header, as text without space around it.
pub(crate) fn header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}
