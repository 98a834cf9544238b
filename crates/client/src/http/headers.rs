//! The headers of an endpoint, read once.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::error::ClientError;
use crate::target::Endpoint;

/// Headers that say how a message is cut out of a connection: ours to write, not the user's.
const OURS: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers of an endpoint. What is wrong with one is told without its value.
pub(crate) fn of_endpoint(endpoint: &Endpoint) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::with_capacity(endpoint.headers.len() + 8);
    for (name, value) in &endpoint.headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| unusable(name, "its name has a character that no header may have"))?;
        if OURS.contains(&key) {
            return Err(unusable(name, "it belongs to the connection; leave it out"));
        }
        let mut value = HeaderValue::try_from(value.expose())
            .map_err(|_| unusable(name, "its value has a character that no header may have"))?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

fn unusable(name: &str, why: &str) -> ClientError {
    ClientError::Unreachable(format!("the header `{}` cannot be sent: {why}", name.escape_debug()))
}
