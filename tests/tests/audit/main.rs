//! The record of calls, with the real binary: nothing that ran is missing in it, whatever happens
//! to the gateway, and whatever happens to the record is found.

mod commands;
mod crash;
mod desk;
mod emptied;
mod flood;
mod full;
