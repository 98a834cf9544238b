//! The program from start to end: what it keeps, how it stops, what it says when it cannot start.

mod program;
mod refusal;
mod reload;
mod restart;
mod status;
mod stdio;
mod stop;
mod tasks;
