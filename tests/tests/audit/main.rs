//! The record of calls, with the real binary: nothing that ran is missing in it, whatever happens
//! to the gateway, and whatever happens to the record is found.

mod commands;
mod crash;
mod emptied;
mod fixture;
mod flood;
mod full;
