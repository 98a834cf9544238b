//! A server that does one thing wrong, as it is told on its command line, over stdio or HTTP. It
//! writes every byte itself, so that it can also say what no library would.

mod conduct;
mod http;
mod lists;
mod script;
mod stdio;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;

use self::conduct::Conduct;
use self::script::Script;

#[derive(Debug, Parser)]
struct Options {
    /// What it does wrong.
    #[arg(value_enum)]
    conduct: Conduct,
    /// Listens for HTTP on a free port, which it prints to standard error.
    #[arg(long)]
    http: bool,
    /// Speaks the newest revision, without handshake, and no other.
    #[arg(long)]
    modern: bool,
    /// Ends at once while this file exists.
    #[arg(long)]
    unless: Option<PathBuf>,
    /// Serves only once this file exists.
    #[arg(long)]
    after: Option<PathBuf>,
}

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    if options.unless.is_some_and(|file| file.exists()) {
        return Err(std::io::Error::other("it is told not to start"));
    }
    while options.after.as_ref().is_some_and(|file| !file.exists()) {
        // Only the pause between two looks; nothing depends on its length.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let script = Script::new(options.conduct, options.modern);
    match options.http {
        true => http::serve(&Arc::new(script)),
        false => stdio::serve(&script),
    }
}
