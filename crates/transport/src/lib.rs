//! Bytes to messages and back, for both sides: bounded lines and server-sent events; and the
//! child processes whose standard streams carry them.

pub mod child;
pub mod lines;
pub mod sse;
