//! What both sides of HTTP/1.1 must agree on: where a body ends, and whether the connection goes on.

mod framing;
mod hints;

pub use framing::{Chunked, Framing, Step};
pub use hints::Hints;
