//! Bytes to messages and back, for both sides: bounded lines, server-sent events and the bodies
//! of HTTP; and the child processes whose standard streams carry them.

pub mod child;
pub mod http;
pub mod lines;
pub mod sse;
