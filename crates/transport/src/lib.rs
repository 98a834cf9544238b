//! Bytes to messages and back, for both sides: bounded lines and server-sent events.

pub mod lines;
pub mod sse;
