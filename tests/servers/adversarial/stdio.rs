//! The server on its standard streams.

use std::io::{BufRead, Write, stderr, stdin, stdout};
use std::process::exit;

use serde_json::Value;

use crate::attack::Attack;
use crate::payload;

/// Serves until its input ends.
pub(crate) fn serve(attack: Attack) -> std::io::Result<()> {
    for line in stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        if message["method"] == "tools/call" && message["params"]["name"] == "odd" {
            begin(attack, &message["id"])?;
        }
        if let Some(answer) = payload::answer(attack, &message) {
            say(&answer)?;
        }
    }
    Ok(())
}

fn say(text: &str) -> std::io::Result<()> {
    let mut output = stdout().lock();
    output.write_all(text.as_bytes())?;
    output.write_all(b"\n")?;
    output.flush()
}

#[expect(clippy::exit, reason = "a server that dies does not clean up first")]
fn begin(attack: Attack, id: &Value) -> std::io::Result<()> {
    if let Some(message) = payload::message(attack, id) {
        return say(&message);
    }
    if let Some(text) = payload::repeated(attack, id) {
        let lines = format!("{text}\n").repeat(100);
        loop {
            stdout().lock().write_all(lines.as_bytes())?;
        }
    }
    match attack {
        Attack::Exits => exit(3),
        Attack::Garbage => {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(64 << 10).collect();
            loop {
                stdout().lock().write_all(&bytes)?;
            }
        }
        Attack::Stderr => {
            let lines = [b"!".repeat(1023), b"\n".to_vec()].concat();
            loop {
                stderr().write_all(&lines)?;
            }
        }
        Attack::HalfLine => {
            let mut output = stdout().lock();
            output.write_all(b"{\"jsonrpc\":\"2.0\",\"result\":")?;
            output.flush()?;
            loop {
                std::thread::park();
            }
        }
        _ => Ok(()),
    }
}
