//! Placeholders in the data: `{name}` in a text is replaced by a text, or by the JSON of another value.
//! A text that is nothing but a placeholder becomes the value itself.

use serde_json::{Map, Value};

/// What placeholders stand for.
#[derive(Clone, Default)]
pub(super) struct Values(Vec<(String, Value)>);

impl Values {
    /// Adds what `{name}` stands for.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// The value with all that is known filled in.
    pub(super) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => self.fill_members(members).into(),
            other => other.clone(),
        }
    }

    /// The texts of a list; one that is missing is empty.
    pub(super) fn words(&self, value: &Value) -> Vec<String> {
        let filled = self.fill(value);
        let words = filled.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    }

    /// The texts of an object by their keys; one that is missing is empty.
    pub(super) fn pairs(&self, value: &Value) -> Vec<(String, String)> {
        let filled = self.fill(value);
        let members = filled.as_object().into_iter().flatten();
        let pairs =
            members.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        pairs.collect()
    }

    fn fill_members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        members.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect()
    }

    fn fill_text(&self, text: &str) -> Value {
        let whole = self.0.iter().find(|(name, _)| text == format!("{{{name}}}"));
        if let Some((_, value)) = whole {
            return value.clone();
        }
        let mut filled = text.to_owned();
        for (name, value) in &self.0 {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            filled = filled.replace(&format!("{{{name}}}"), &text);
        }
        filled.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_become_texts_or_values() {
        let mut values = Values::default();
        values.set("home", "/h");
        values.set("serve", json!(["a", "b"]));
        let cases = [
            (json!("{home}/x"), json!("/h/x")),
            (json!({"k": ["{serve}", 1]}), json!({"k": [["a", "b"], 1]})),
            (json!("{unknown} {serve}"), json!("{unknown} [\"a\",\"b\"]")),
        ];
        for (value, expected) in cases {
            assert_eq!(values.fill(&value), expected);
        }
        assert_eq!(values.words(&json!(["{home}"])), ["/h"]);
        assert_eq!(values.pairs(&json!({"A": "{home}"})), [("A".to_owned(), "/h".to_owned())]);
    }
}
