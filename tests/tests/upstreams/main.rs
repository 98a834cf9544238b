//! Servers behind the real binary: hostile ones, real ones, and how they come and go.

mod bytes;
mod errors;
mod headers;
mod hostile;
mod keychain;
mod lifetimes;
mod real;
mod reload;
mod secrets;
mod sharing;
mod startup;
