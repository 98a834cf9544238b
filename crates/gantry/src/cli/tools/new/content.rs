//! A template that answers with MCP content in place of data: what changes in its files.

/// What stands in the programs and in the head of a script, and what stands there for content. What
/// a file does not have is passed over.
const CHANGES: [(&str, &str); 6] = [
    (
        "# timeout = \"10s\"\n",
        "# timeout = \"10s\"\n# # It gives MCP content, such as text or images.\n# output = \"content\"\n",
    ),
    (
        r#"{"words": len(arguments["text"].split())}"#,
        r#"{"content": [{"type": "text", "text": f"{len(arguments['text'].split())} words"}]}"#,
    ),
    (r#"{"words": words}"#, r#"{"content": [{"type": "text", "text": f"{words} words"}]}"#),
    (r#"'{"square": %d}\n'"#, r#"'{"content": [{"type": "text", "text": "%d"}]}\n'"#),
    (r#""{\"square\": %ld}\n""#, r#""{\"content\": [{\"type\": \"text\", \"text\": \"%ld\"}]}\n""#),
    (r#""{{\"square\": {}}}""#, r#""{{\"content\": [{{\"type\": \"text\", \"text\": \"{}\"}}]}}""#),
];

/// The schema in a manifest and in the head of a script: from here to there, and what replaces it.
const SCHEMAS: [(&str, &str, &str); 2] = [
    ("\"outputSchema\"", "\"annotations\"", "\"output\": \"content\",\n  "),
    ("#\n# # What it gives", "# ///\n", ""),
];

/// Changes the files of a template.
pub(super) fn convert(files: &mut [(String, String)]) {
    for (_, text) in files {
        for (from, to) in CHANGES {
            *text = text.replace(from, to);
        }
        for (from, to, replacement) in SCHEMAS {
            let Some(start) = text.find(from) else { continue };
            let Some(length) = text[start..].find(to) else { continue };
            text.replace_range(start..start + length, replacement);
        }
    }
}
