//! The command line of the real binary: what it prints where, and how it ends.

mod bench;
mod call;
mod check;
mod configuration;
mod contract;
mod diff;
mod documents;
mod fresh;
mod import;
mod list;
mod plan;
mod policy;
mod running;
mod secrets;
mod servers;
mod shell;
