//! JSON as people may see it: what stands under the name of a secret is hidden, and every text
//! passes the redactor.

use super::{HIDDEN, Redactor, names_a_secret};
use crate::json::{JsonKind, ObjectWriter, RawJson};

impl Redactor {
    /// The value without secrets and without white space. All else stays as it was written.
    pub fn value(&self, value: &RawJson) -> RawJson {
        match value.kind() {
            JsonKind::Object => {
                let members = value.members().fold(ObjectWriter::new(), |object, member| {
                    let (key, value) = (member.key(), member.value());
                    let is_hidden = names_a_secret(&key) && !is_harmless(&value);
                    let shown =
                        if is_hidden { RawJson::string(HIDDEN) } else { self.value(&value) };
                    object.raw(&self.text(&key), &shown)
                });
                members.finish()
            }
            JsonKind::Array => {
                let elements: Vec<RawJson> = value.elements().map(|it| self.value(&it)).collect();
                RawJson::array(&elements)
            }
            JsonKind::String => {
                match value.to_text().map(|text| (self.text(&text) != text, text)) {
                    Some((true, text)) => RawJson::string(&self.text(&text)),
                    _ => value.clone(),
                }
            }
            _ => value.clone(),
        }
    }
}

/// Nobody's secret is true, false or nothing.
fn is_harmless(value: &RawJson) -> bool {
    matches!(value.kind(), JsonKind::Boolean | JsonKind::Null)
}
