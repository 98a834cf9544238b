//! What fuzz targets reach of the inside.

use gantry_transport::http1::Framing;

use crate::http::Head;

/// What the head of a request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// Its bytes.
    pub length: usize,
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names and values, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Where the body ends.
    pub framing: Framing,
}

/// Reads the head of a request; none while it is not whole. The error says why it is refused.
pub fn request_head(bytes: &[u8]) -> Result<Option<RequestHead>, String> {
    let mut head = Head::default();
    let read = head.read(bytes).map_err(|bad| bad.reason)?;
    let headers = head.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(read.map(|length| RequestHead {
        length,
        method: head.method.to_string(),
        target: head.target().to_owned(),
        headers: headers.collect(),
        framing: head.framing,
    }))
}
