//! How to use many servers, for the model: what each says, under its name, and not too much of it.

/// The longest text of one server, in characters, and of all.
const ONE: usize = 2_000;
const ALL: usize = 8_000;

/// Puts the instructions of servers behind those of the gateway.
pub(super) fn merge<'a>(
    own: Option<&str>,
    servers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let mut merged = own.unwrap_or_default().to_owned();
    let mut room = ALL;
    for (name, text) in servers {
        let text = shortened(text.trim(), ONE.min(room));
        if text.is_empty() {
            continue;
        }
        room -= text.chars().count().min(room);
        if !merged.is_empty() {
            merged.push_str("\n\n");
        }
        merged.push_str(&format!("## {name}\n\n{text}"));
    }
    (!merged.is_empty()).then_some(merged)
}

/// The beginning of a text, which shows that it is one.
fn shortened(text: &str, length: usize) -> String {
    match text.chars().count() {
        count if count <= length => text.to_owned(),
        _ if length == 0 => String::new(),
        _ => text.chars().take(length - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_speaks_under_its_name() {
        let cases = [
            (None, vec![], None),
            (Some("be kind"), vec![], Some("be kind")),
            (None, vec![("a", " do this\n"), ("b", "")], Some("## a\n\ndo this")),
            (Some("x"), vec![("a", "y")], Some("x\n\n## a\n\ny")),
            (None, vec![("a", "y"), ("b", "z")], Some("## a\n\ny\n\n## b\n\nz")),
        ];
        for (own, servers, expected) in cases {
            assert_eq!(merge(own, servers.iter().copied()).as_deref(), expected, "{servers:?}");
        }
    }

    #[test]
    fn nobody_says_too_much() {
        let long = "ä".repeat(3_000);
        let servers = ["a", "b", "c", "d", "e"].map(|name| (name, long.as_str()));
        let merged = merge(None, servers.into_iter()).unwrap();
        assert_eq!(merged.matches('…').count(), 4, "the fifth has no room");
        assert!(merged.chars().count() < ALL + 100);
    }
}
