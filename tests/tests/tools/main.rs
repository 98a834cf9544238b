//! A folder of programs behind the real binary: what they may do, what becomes of bad ones, and
//! that nothing is left of them.

mod cancel;
mod change;
mod conduct;
mod crowd;
mod errors;
mod flood;
mod folder;
mod manifests;
mod memory;
mod orphans;
mod output;
mod results;
mod schemas;
mod served;
mod soak;
mod start;
mod stop;
