//! The limit for stdio: read a line, write a line, with the answers made by hand.

use std::io::{BufRead, Write};

use super::message::Answers;
use crate::fault::Fault;

/// Serves until standard input ends.
pub(crate) fn serve() -> Result<(), Fault> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let (mut line, answers) = (String::new(), Answers::new(0));
    while input.read_line(&mut line).map_err(Fault::machine("read standard input"))? > 0 {
        if let Ok(Some(mut answer)) = answers.answer(line.trim_end().as_bytes()) {
            answer.push(b'\n');
            output.write_all(&answer).map_err(Fault::machine("write standard output"))?;
            output.flush().map_err(Fault::machine("write standard output"))?;
        }
        line.clear();
    }
    Ok(())
}
