//! `text.distance`, a native tool in one file: `rustc -O distance.rs`. It needs no crate: the gateway
//! has checked the line and the arguments before, so what is read here is known to be well formed.

use std::process::ExitCode;
use std::str::Chars;

fn main() -> ExitCode {
    let mut line = String::new();
    if let Err(error) = std::io::stdin().read_line(&mut line) {
        eprintln!("the call cannot be read: {error}");
        return ExitCode::FAILURE;
    }
    let (Some(left), Some(right)) = (argument(&line, "left"), argument(&line, "right")) else {
        eprintln!("`left` and `right` must be texts");
        return ExitCode::FAILURE;
    };
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let distance = distance(&left, &right);
    let longer = left.len().max(right.len()).max(1);
    let similarity = 1.0 - distance as f64 / longer as f64;
    println!("{{\"distance\": {distance}, \"similarity\": {similarity:.4}}}");
    ExitCode::SUCCESS
}

/// Levenshtein's distance, with one row of his table at a time.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

/// The text at `arguments.NAME` in a line of JSON.
fn argument(line: &str, name: &str) -> Option<String> {
    let mut path: Vec<String> = Vec::new();
    let mut depth = 0;
    let mut rest = line.chars();
    while let Some(sign) = rest.next() {
        match sign {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            '"' => {
                let text = string(&mut rest)?;
                if rest.as_str().trim_start().starts_with(':') {
                    path.truncate(depth - 1);
                    path.push(text);
                } else if depth == 2 && path == ["arguments", name] {
                    return Some(text);
                }
            }
            _ => {}
        }
    }
    None
}

/// The rest of a string whose first quote has been read.
fn string(rest: &mut Chars<'_>) -> Option<String> {
    // JSON escapes signs beyond the first plane as two halves; UTF-16 puts them together again.
    let mut units: Vec<u16> = Vec::new();
    loop {
        let sign = match rest.next()? {
            '"' => return Some(String::from_utf16_lossy(&units)),
            '\\' => match rest.next()? {
                'u' => {
                    let digits: String = rest.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).ok()?);
                    continue;
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            },
            other => other,
        };
        units.extend_from_slice(sign.encode_utf16(&mut [0; 2]));
    }
}
