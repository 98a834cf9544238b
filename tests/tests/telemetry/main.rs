//! Traces, metrics and logs of the real binary, read by those who will read them.

mod logs;
mod metrics;
mod station;
mod traces;
