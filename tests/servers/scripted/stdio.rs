//! The server on its standard input and output.

use std::io::{BufRead, Write, stderr, stdin, stdout};
use std::process::exit;

use crate::script::{Act, Script};

/// Kilobytes that are more than anybody keeps.
const SHOUT: usize = 50 * 1024;

/// Serves until its input ends.
pub(crate) fn serve(script: &Script) -> std::io::Result<()> {
    for line in stdin().lock().lines() {
        let message = serde_json::from_str(&line?).unwrap_or_default();
        for act in script.hear(&message, None) {
            let mut output = stdout().lock();
            match act {
                Act::Say(text) => {
                    output.write_all(text.as_bytes())?;
                    output.write_all(b"\n")?;
                    output.flush()?;
                }
                Act::Shout => shout()?,
                Act::Die => leave(),
            }
        }
    }
    Ok(())
}

pub(crate) fn shout() -> std::io::Result<()> {
    let line = [b"!".repeat(1023), b"\n".to_vec()].concat();
    (0..SHOUT).try_for_each(|_| stderr().write_all(&line))
}

#[expect(clippy::exit, reason = "a server that dies does not clean up first")]
pub(crate) fn leave() {
    exit(3);
}
