//! Canonical JSON: one text for all ways to write the same value, and the fingerprint of a definition that
//! is computed from it.

use gantry_gateway::Target;
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use sha2::{Digest, Sha256};

/// The value in its one form.
pub(crate) fn canonical(value: &RawJson) -> RawJson {
    match value.kind() {
        JsonKind::Object => {
            let mut members: Vec<(String, RawJson)> =
                value.members().map(|it| (it.key().into_owned(), canonical(&it.value()))).collect();
            // Of two with one name the order stays, since it matters to some readers.
            members.sort_by(|one, other| one.0.cmp(&other.0));
            let writer = ObjectWriter::with_capacity(value.bytes().len());
            members.iter().fold(writer, |out, (key, value)| out.raw(key, value)).finish()
        }
        JsonKind::Array => {
            let elements: Vec<RawJson> = value.elements().map(|it| canonical(&it)).collect();
            RawJson::array(&elements)
        }
        // Half a character has no value, and stays as it is written.
        JsonKind::String => {
            value.to_text().map_or_else(|| value.clone(), |it| RawJson::string(&it))
        }
        _ => value.clone(),
    }
}

/// The fingerprint of what a target is: its definition as its provider wrote it, in the form that
/// pins use, and whose it is. The names that endpoints give it, the order of members and white space
/// do not matter.
pub(crate) fn fingerprint(target: &Target) -> String {
    let definition = canonical(match target {
        Target::Tool(tool) => &tool.own.definition,
        Target::Prompt(prompt) => &prompt.own.definition,
        Target::Resource(_) | Target::Template(..) => target.definition(),
    });
    let origin = target.origin();
    let (server, identity) = origin.map_or(("", ""), |it| (&*it.server, &*it.identity));
    let mut hash = Sha256::new();
    for part in [server.as_bytes(), identity.as_bytes(), definition.bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hexadecimal(&hash.finalize())
}

/// Bytes as text.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form() {
        let cases = [
            (r#"{ "b" : 1.0, "a":[ true , null ] }"#, r#"{"a":[true,null],"b":1.0}"#),
            (r#"{"a":"\u0062\/"}"#, r#"{"a":"b/"}"#),
            (r#"{"b":{"d":1,"c":2},"a":1e3}"#, r#"{"a":1e3,"b":{"c":2,"d":1}}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
            (r#"{"a":"\ud800"}"#, r#"{"a":"\ud800"}"#),
            (r#"{"a":"x\ny"}"#, r#"{"a":"x\ny"}"#),
            ("{}", "{}"),
        ];
        for (text, expected) in cases {
            let written = canonical(&RawJson::from_static(text));
            assert_eq!(written.as_str(), expected);
            assert_eq!(canonical(&written), written, "it is the last word");
        }
    }
}
