//! Files of variables, as `envFile` names them: lines such as `NAME=value`.

/// The variables of a text, in order; or the number of the first line that is none.
pub(super) fn read(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(index + 1)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(index + 1);
        }
        variables.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(variables)
}

/// Single quotes keep all as it is, double quotes know `\n` and the like, and a bare value ends
/// where a comment begins.
fn unquoted(value: &str) -> String {
    if let Some(inside) = quoted(value, '\'') {
        return inside.to_owned();
    }
    if let Some(inside) = quoted(value, '"') {
        return unescaped(inside);
    }
    let bare = value.split_once(" #").map_or(value, |(bare, _)| bare);
    bare.trim_end().to_owned()
}

/// What stands between a pair of quotes that begins the value.
fn quoted(value: &str, quote: char) -> Option<&str> {
    let inside = value.strip_prefix(quote)?;
    let mut escaped = false;
    let end = inside.find(|letter| {
        let ends = letter == quote && !escaped;
        escaped = letter == '\\' && quote == '"' && !escaped;
        ends
    })?;
    let rest = inside[end + 1..].trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| &inside[..end])
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some('t') => plain.push('\t'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn cases() {
        let cases = [
            ("A=1\n\n# no\nB=2", Ok(vec![("A", "1"), ("B", "2")])),
            ("export A = x y # z\r\n", Ok(vec![("A", "x y")])),
            ("A='x # $y'", Ok(vec![("A", "x # $y")])),
            ("A=\"l\\nm \\\"q\\\"\" # c", Ok(vec![("A", "l\nm \"q\"")])),
            ("A=a=b#c", Ok(vec![("A", "a=b#c")])),
            ("A=\nB=\"open", Ok(vec![("A", ""), ("B", "\"open")])),
            ("A=1\nwhat", Err(2)),
            ("=1", Err(1)),
            ("A B=1", Err(1)),
        ];
        for (text, expected) in cases {
            let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            let expected = expected.map(|all| all.into_iter().map(owned).collect::<Vec<_>>());
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
