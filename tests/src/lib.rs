//! What the tests of the whole program share: a server with fixtures, and clients that can send
//! anything and see every byte of the answer.

pub mod checks;
pub mod fixtures;
pub mod http;
pub mod keyring;
pub mod latch;
pub mod matching;
pub mod payloads;
pub mod processes;
pub mod request;
pub mod tasks;
pub mod temp_folder;
pub mod test_server;
pub mod tool_fixture;
pub mod transcript;
pub mod transport;
pub mod upstream_fixture;
