//! JSON with comments and trailing commas: both are overwritten with spaces, so that every other
//! byte stays where it is and errors point to the right place.

/// The text as plain JSON, or where the comment begins that has no end.
pub(crate) fn blank(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut plain = text.to_vec();
    let mut at = 0;
    // The last comma, as long as nothing but space and comments has followed it.
    let mut comma = None;
    while at < plain.len() {
        let end = match (plain[at], plain.get(at + 1)) {
            (b'"', _) => string_end(&plain, at),
            (b'/', Some(b'/')) => erase(&mut plain, at, line_end(text, at)),
            (b'/', Some(b'*')) => {
                let end = find(text, b"*/", at + 2).ok_or(at)? + 2;
                erase(&mut plain, at, end)
            }
            _ => at + 1,
        };
        match text[at] {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            _ if plain[at].is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at = end;
    }
    Ok(plain)
}

/// The byte after the string that begins at `start`.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn line_end(text: &[u8], start: usize) -> usize {
    find(text, b"\n", start).unwrap_or(text.len())
}

fn find(text: &[u8], what: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| start + at)
}

/// Overwrites bytes with spaces, but for the ends of lines, and returns `end`.
fn erase(text: &mut [u8], start: usize, end: usize) -> usize {
    for byte in text[start..end].iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
    end
}

#[cfg(test)]
mod tests {
    use super::blank;

    #[test]
    fn cases() {
        let cases = [
            ("{}", Ok("{}")),
            ("{} // end", Ok("{}       ")),
            ("{/* a\nb */}", Ok("{    \n    }")),
            ("[1, 2,]", Ok("[1, 2 ]")),
            ("[1, // one\n]", Ok("[1        \n]")),
            ("{\"a\": 1, /* x */ }", Ok("{\"a\": 1          }")),
            ("[[1,],]", Ok("[[1 ] ]")),
            ("\"// no\"", Ok("\"// no\"")),
            ("[\"a,\",]", Ok("[\"a,\" ]")),
            ("\"\\\"//\"", Ok("\"\\\"//\"")),
            ("[,]", Ok("[ ]")),
            ("[1,,]", Ok("[1, ]")),
            ("{ /* open", Err(2)),
            ("\"open", Ok("\"open")),
            ("\"open\\", Ok("\"open\\")),
            ("/", Ok("/")),
        ];
        for (text, expected) in cases {
            let plain = blank(text.as_bytes()).map(|it| String::from_utf8(it).expect("UTF-8"));
            assert_eq!(plain.as_deref().map_err(|at| *at), expected, "{text}");
        }
    }
}
