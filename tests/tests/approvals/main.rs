//! Trust and approvals in the real binary: a tool that destroys something, and those who may let
//! it run.

mod administration;
mod authority;
mod client;
mod command;
mod fixture;
mod forged;
mod marks;
mod settings;
mod shown;
mod unanswered;
mod webhook;
