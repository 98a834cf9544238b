//! A hostile server for the adversarial suite, over stdio or HTTP. It greets and lists as it should
//! until its attack begins, which is when its tools are listed or when its tool `odd` is called.

mod attack;
mod http;
mod payload;
mod stdio;

use clap::Parser;

use self::attack::Attack;

#[derive(Debug, Parser)]
struct Options {
    /// How it attacks.
    #[arg(value_enum)]
    attack: Attack,
    /// Listens for HTTP on a free port, which it prints to standard error.
    #[arg(long)]
    http: bool,
}

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    // What the suite measures is the gateway and not how the system shares the processors: a server
    // is seldom on the same machine, and would otherwise take them from whoever measures.
    rustix::process::nice(19)?;
    match options.http {
        true => http::serve(options.attack),
        false => stdio::serve(options.attack),
    }
}
