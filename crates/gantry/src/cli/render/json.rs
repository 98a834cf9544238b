//! JSON for people: one member a line. Keys keep their order, numbers their text.

use gantry::RawJson;
use gantry_protocol::json::JsonKind;

use super::escape::json;

/// The value over several lines, with what cannot be seen escaped.
pub(crate) fn pretty(value: &RawJson) -> String {
    let mut text = String::new();
    put(&mut text, value, 0);
    json(&text).into_owned()
}

fn put(text: &mut String, value: &RawJson, depth: usize) {
    match value.kind() {
        JsonKind::Object => {
            let members = value.members().map(|it| (Some(it.key().into_owned()), it.value()));
            put_all(text, ['{', '}'], members, depth);
        }
        JsonKind::Array => put_all(text, ['[', ']'], value.elements().map(|it| (None, it)), depth),
        _ => text.push_str(value.as_str()),
    }
}

fn put_all(
    text: &mut String,
    [open, close]: [char; 2],
    parts: impl Iterator<Item = (Option<String>, RawJson)>,
    depth: usize,
) {
    text.push(open);
    let mut is_empty = true;
    for (key, value) in parts {
        text.push_str(if is_empty { "\n" } else { ",\n" });
        is_empty = false;
        indent(text, depth + 1);
        if let Some(key) = key {
            text.push_str(RawJson::string(&key).as_str());
            text.push_str(": ");
        }
        put(text, &value, depth + 1);
    }
    if !is_empty {
        text.push('\n');
        indent(text, depth);
    }
    text.push(close);
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::pretty;
    use gantry::RawJson;

    #[test]
    fn lines() {
        let cases = [
            (r#""a""#, "\"a\""),
            ("{}", "{}"),
            ("{\"a\u{202e}\":\"b\u{e0041}\"}", "{\n  \"a\\u202e\": \"b\\udb40\\udc41\"\n}"),
            ("[ ]", "[]"),
            (
                r#"{"b":1.0,"a":[1,{"c":null}]}"#,
                "{\n  \"b\": 1.0,\n  \"a\": [\n    1,\n    {\n      \"c\": null\n    }\n  ]\n}",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(pretty(&RawJson::from_static(value)), expected, "{value}");
        }
    }
}
