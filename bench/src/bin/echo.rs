//! The tool that is measured: reads one line of JSON and answers it with one. As small as a native
//! program can be, so that the cost of its start is all there is. With an argument it goes on until
//! its input ends.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let forever = std::env::args_os().len() > 1;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        output.write_all(answer(&line).as_bytes())?;
        output.flush()?;
        if !forever {
            break;
        }
        line.clear();
    }
    Ok(())
}

/// The text of a line such as `{"arguments":{"text":"a"}}`, as a result. The bench sends no text
/// that needs an escape.
fn answer(line: &str) -> String {
    let (_, rest) = line.split_once(r#""text":""#).unwrap_or_default();
    let (text, _) = rest.split_once('"').unwrap_or_default();
    let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
    format!("{{\"content\":[{block}],\"structuredContent\":{{\"text\":\"{text}\"}}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_back() {
        for (line, text) in [
            (r#"{"arguments":{"text":"a b"}}"#, "a b"),
            (r#"{"arguments":{"count":1,"text":""}}"#, ""),
            (r#"{"arguments":{}}"#, ""),
        ] {
            let answer = answer(line);
            assert!(answer.ends_with(&format!("{{\"text\":\"{text}\"}}}}\n")), "{answer}");
        }
    }
}
