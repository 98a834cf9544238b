//! JSON as people may see it: what stands under the name of a secret is hidden, and every text
//! passes the redactor.

use bytes::{BufMut, BytesMut};

use super::{HIDDEN, Redactor, names_a_secret};
use crate::json::{JsonKind, RawJson, put_string};

impl Redactor {
    /// The value without secrets and without white space. All else stays as it was written.
    pub fn value(&self, value: &RawJson) -> RawJson {
        let mut out = BytesMut::with_capacity(value.bytes().len());
        self.put(value, &mut out);
        RawJson::trusted(out.freeze())
    }

    /// Writes into one place: a list of parts would take many times the memory of a long array.
    fn put(&self, value: &RawJson, out: &mut BytesMut) {
        match value.kind() {
            JsonKind::Object => {
                let mut lead = b'{';
                for member in value.members() {
                    let (key, value) = (member.key(), member.value());
                    out.put_u8(lead);
                    lead = b',';
                    put_string(out, &self.text(&key));
                    out.put_u8(b':');
                    match names_a_secret(&key) && !is_harmless(&value) {
                        true => put_string(out, HIDDEN),
                        false => self.put(&value, out),
                    }
                }
                out.put_slice(if lead == b'{' { b"{}" } else { b"}" });
            }
            JsonKind::Array => {
                let mut lead = b'[';
                for element in value.elements() {
                    out.put_u8(lead);
                    lead = b',';
                    self.put(&element, out);
                }
                out.put_slice(if lead == b'[' { b"[]" } else { b"]" });
            }
            JsonKind::String => {
                let shown = value.to_text().map(|text| (self.text(&text).into_owned(), text));
                match shown {
                    Some((shown, text)) if shown != text => put_string(out, &shown),
                    _ => out.put_slice(value.bytes()),
                }
            }
            _ => out.put_slice(value.bytes()),
        }
    }
}

/// Nobody's secret is true, false or nothing.
fn is_harmless(value: &RawJson) -> bool {
    matches!(value.kind(), JsonKind::Boolean | JsonKind::Null)
}
