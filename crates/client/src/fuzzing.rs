//! What fuzz targets reach of the inside.

use crate::http::Head;

/// Reads the head of a response: its length, and what it says, written out; none while it is not
/// whole. The error says why it is refused.
pub fn response_head(bytes: &[u8]) -> Result<Option<(usize, String)>, String> {
    Ok(Head::read(bytes)?.map(|(length, head)| (length, format!("{head:?}"))))
}
