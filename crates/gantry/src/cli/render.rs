//! The only place of the command line that writes to the terminal.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is where writing happens")]

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;

use super::exit::{Code, Exit};

/// Prints the version.
pub(crate) fn version() {
    println!("gantry {}", env!("CARGO_PKG_VERSION"));
}

/// Says what was wrong with the command line, or prints the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing can be done when the terminal is gone.
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => Code::Usage.into(),
    }
}

/// Says why the program ends, and what to do.
pub(crate) fn failure(exit: &Exit) -> ExitCode {
    let (red, bold, plain) = colours();
    eprintln!("{red}error{plain}: {}", exit.message);
    if let Some(hint) = &exit.hint {
        eprintln!("{bold}hint{plain}: {hint}");
    }
    exit.code.into()
}

/// Says how many tools there are, and what is wrong with those that were left out.
pub(crate) fn tools(count: usize, problems: &[gantry::Problem]) {
    let (red, _, plain) = colours();
    let noun = if count == 1 { "tool" } else { "tools" };
    eprintln!("  {count} {noun}");
    for problem in problems {
        eprintln!("  {red}left out{plain} {problem}");
    }
}

/// Greets the user of a gateway that has just begun to listen.
pub(crate) fn listening(address: SocketAddr) {
    let (_, bold, plain) = colours();
    eprintln!(
        "\n  {bold}Gantry is ready{plain}   http://{address}/mcp\n\
         \n  Paste this into your client's configuration:\n\
         \n    {{\"mcpServers\": {{\"gantry\": {{\"type\": \"http\", \"url\": \"http://{address}/mcp\"}}}}}}\n\
         \n  Older clients: http://{address}/sse    WebSocket: ws://{address}/ws\n\
         \n  Or let a client start it:  gantry serve --stdio      Stop with Ctrl-C.\n"
    );
}

/// Colours, when someone is looking.
fn colours() -> (&'static str, &'static str, &'static str) {
    let wanted = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if wanted { ("\x1b[1;31m", "\x1b[1m", "\x1b[0m") } else { ("", "", "") }
}
