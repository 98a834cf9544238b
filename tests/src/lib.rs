//! What the tests of the whole program share: a server with fixtures, and clients that can send
//! anything and see every byte of the answer.

pub mod checks;
pub mod door;
pub mod fixtures;
pub mod foundry;
pub mod gate;
pub mod house;
pub mod http;
pub mod keyring;
pub mod matching;
pub mod payloads;
pub mod processes;
pub mod request;
pub mod tasks;
pub mod transcript;
pub mod workshop;
pub mod yard;
