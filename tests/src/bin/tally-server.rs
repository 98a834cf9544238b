//! A server that writes down every call that reaches it, before it answers: what a record of calls
//! is measured by. The file is the first argument.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use gantry::{Failure, Server, Tool};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).expect("the file to write to");
    let tally = Arc::new(OpenOptions::new().append(true).create(true).open(path)?);
    let server = Server::new("tally", "1.0.0")
        .tool(tool("count", &tally, async || Ok("counted".to_owned())).read_only())
        .tool(tool("fail", &tally, async || Err(Failure::new("it broke"))).read_only())
        .tool(tool("wait", &tally, std::future::pending).read_only())
        // Policies stand before these, so that nobody ever gets to them.
        .tool(tool("secret", &tally, async || Ok("told".to_owned())).read_only())
        .tool(tool("wipe", &tally, async || Ok("gone".to_owned())).destructive(true))
        .tool(tool("mail", &tally, async || Ok("sent".to_owned())).destructive(true))
        .build();
    server.expect("the tools are in order").serve_stdio().await
}

/// A tool that writes the number of the call down and does something then.
fn tool<R>(name: &str, tally: &Arc<File>, then: impl Fn() -> R + Send + Sync + 'static) -> Tool
where
    R: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let schema = json!({
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    });
    let tally = tally.clone();
    Tool::new(name, "For a test.").input_schema(schema).run(move |arguments: Value, _| {
        let line = format!("{}\n", arguments["number"]);
        // One write, so that lines of calls at the same time do not mix.
        (&*tally).write_all(line.as_bytes()).expect("the tally can be written");
        then()
    })
}
