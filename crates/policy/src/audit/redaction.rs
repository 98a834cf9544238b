//! Arguments without what looks like a secret.

use std::borrow::Cow;
use std::sync::Arc;

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// What looks like a secret, by the name of a member and by a text itself.
#[derive(Clone)]
pub struct Redaction {
    is_name: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    text: Arc<Masking>,
}

/// A text as it may be shown.
type Masking = dyn for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync;

impl Redaction {
    /// Hides what stands under a name of which the first says that it is one of a secret, and
    /// whatever the second takes out of a text.
    pub fn new(
        is_name: impl Fn(&str) -> bool + Send + Sync + 'static,
        text: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        Self { is_name: Arc::new(is_name), text: Arc::new(text) }
    }

    /// The value as it may be kept, without white space.
    pub fn apply(&self, value: &RawJson) -> RawJson {
        match value.kind() {
            JsonKind::Object => {
                let members = value.members().fold(ObjectWriter::new(), |object, member| {
                    let key = member.key();
                    let hidden = (self.is_name)(&key) && !is_harmless(&member.value());
                    let shown = match hidden {
                        true => RawJson::string(HIDDEN),
                        false => self.apply(&member.value()),
                    };
                    object.raw(&(self.text)(&key), &shown)
                });
                members.finish()
            }
            JsonKind::Array => {
                let elements: Vec<_> = value.elements().map(|it| self.apply(&it)).collect();
                RawJson::array(&elements)
            }
            JsonKind::String => {
                let text = value.to_text().unwrap_or_default();
                RawJson::string(&(self.text)(&text))
            }
            _ => value.clone(),
        }
    }
}

/// Nobody's secret is true, false or nothing.
fn is_harmless(value: &RawJson) -> bool {
    matches!(value.kind(), JsonKind::Boolean | JsonKind::Null)
}

impl Default for Redaction {
    /// Hides nothing.
    fn default() -> Self {
        Self::new(|_| false, |text| Cow::Borrowed(text))
    }
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Redaction(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let redaction = Redaction::new(
            |name| name.contains("token"),
            |text| match text.contains("sk-") {
                true => Cow::Owned("…".to_owned()),
                false => Cow::Borrowed(text),
            },
        );
        let cases = [
            (r#"{ "a": 1.0, "b": [true, null] }"#, r#"{"a":1.0,"b":[true,null]}"#),
            (r#"{"token":"x","a":"y"}"#, r#"{"token":"…","a":"y"}"#),
            (r#"{"a":{"my_token":{"deep":[1]}}}"#, r#"{"a":{"my_token":"…"}}"#),
            (r#"{"token":true}"#, r#"{"token":true}"#),
            (r#"{"a":["sk-1","b\n"]}"#, r#"{"a":["…","b\n"]}"#),
            (r#"{"sk-1":1}"#, r#"{"…":1}"#),
            (r#"{"\u0074oken":"x"}"#, r#"{"token":"…"}"#),
        ];
        for (given, expected) in cases {
            let given = RawJson::from_static(given);
            assert_eq!(redaction.apply(&given).as_str(), expected, "{given}");
        }
    }
}
