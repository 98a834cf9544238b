//! An entry in the words of the file it goes into, so that the client whose file it is reads it too.

use gantry::{ObjectWriter, RawJson};

/// The entry as it is written into a section. Where that is `mcp` or a part of it, servers are
/// `local` or `remote`, and a command is one list.
pub(super) fn written(entry: &RawJson, section: &[&str]) -> RawJson {
    if section.first() != Some(&"mcp") {
        return entry.clone();
    }
    let command = entry.get("command");
    let kind = if command.is_some() { "local" } else { "remote" };
    let args = entry.get("args").map(|it| it.elements().collect::<Vec<_>>()).unwrap_or_default();
    let words: Vec<RawJson> = command.iter().cloned().chain(args).collect();
    let mut out = ObjectWriter::new().value("type", kind);
    if command.is_some() {
        out = out.array("command", &words);
    }
    for member in entry.members() {
        out = match &*member.key() {
            "type" | "command" | "args" => out,
            "env" => out.raw("environment", &member.value()),
            "disabled" => out.value("enabled", &(member.value().read() != Some(true))),
            key => out.raw(key, &member.value()),
        };
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_file() {
        let cases = [
            (
                r#"{"command":"npx","args":["-y","p"],"env":{"A":"b"},"disabled":true}"#,
                r#"{"type":"local","command":["npx","-y","p"],"environment":{"A":"b"},"enabled":false}"#,
            ),
            (
                r#"{"type":"http","url":"https://h","headers":{"A":"b"}}"#,
                r#"{"type":"remote","url":"https://h","headers":{"A":"b"}}"#,
            ),
        ];
        for (text, expected) in cases {
            let entry = RawJson::from_static(text);
            assert_eq!(written(&entry, &["mcp", "servers"]).as_str(), expected, "{text}");
            assert_eq!(written(&entry, &["mcpServers"]), entry, "{text}");
        }
    }
}
