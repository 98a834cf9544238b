//! The server that the tests talk to: one of everything the protocol has.

mod asking;
mod content;
mod tools;

use gantry::{Server, ServerBuilder};

use crate::latch::Latch;

/// A server that has one of everything.
pub fn all(latch: &Latch) -> ServerBuilder {
    let server = named().instructions("Call `echo` to hear yourself.");
    let server = content::add(server);
    let server = asking::add(server);
    tools::add(server, latch)
}

/// A server with one tool and nothing else.
pub fn bare() -> ServerBuilder {
    named().tool(tools::echo())
}

/// A schema that only a full validator understands; clients must get it as it is.
pub fn keywords_schema() -> serde_json::Value {
    tools::keywords_schema()
}

fn named() -> ServerBuilder {
    Server::new("fixture", "1.2.3").info("title", "Fixture")
}
