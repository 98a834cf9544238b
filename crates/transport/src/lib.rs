//! Bytes to messages and back, for both sides: bounded lines, server-sent events and HTTP/1.1 body
//! framing; and the limits of both sides: open files, a rate limit for what a peer sends and for the
//! log lines that it causes, and the threads for large messages.

pub mod descriptors;
pub mod http1;
pub mod lines;
pub mod log_limit;
mod offload;
pub mod sse;
mod throttle;

pub use offload::{LARGE, Offload, offload};
pub use throttle::Throttle;
