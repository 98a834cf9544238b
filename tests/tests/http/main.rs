//! HTTP at its edges: what callers without a token can use up, and whether every byte stream is
//! understood as others understand it.

mod bodies;
mod connections;
mod framing;
mod gateway;
mod held;
mod refusals;
