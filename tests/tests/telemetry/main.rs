//! Traces, metrics and logs of the real binary, read by those who will read them.

mod logs;
mod metrics;
mod records;
mod station;
mod traces;
