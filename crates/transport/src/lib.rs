//! Bytes to messages and back, for both sides: bounded lines, server-sent events and the bodies
//! of HTTP; the child processes whose standard streams carry them; and what bounds both sides: open
//! files, and log lines that others cause.

pub mod child;
pub mod descriptors;
pub mod http;
pub mod lines;
pub mod log_limit;
pub mod memory;
mod offload;
pub mod sse;
mod throttle;

pub use offload::{LARGE, Offload, offload};
pub use throttle::Throttle;
