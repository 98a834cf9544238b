//! Comparing what came with what a transcript expects, where some values cannot be known.

use std::collections::HashMap;

use serde_json::Value;

/// Values that a transcript gave a name when they came, to be used later.
#[derive(Debug, Default)]
pub struct Captures(HashMap<String, String>);

impl Captures {
    /// Whether a value is as expected. `"<any>"` stands for any value; `"<name>"` for any string
    /// the first time, which it remembers, and for the same string from then on.
    pub fn fits(&mut self, expected: &Value, got: &Value) -> bool {
        match (expected, got) {
            (Value::String(expected), got) if expected == "<any>" => !got.is_null(),
            (Value::String(expected), Value::String(got)) => match name(expected) {
                Some(name) => self.0.entry(name.to_owned()).or_insert_with(|| got.clone()) == got,
                None => expected == got,
            },
            (Value::Array(expected), Value::Array(got)) => {
                let mut pairs = expected.iter().zip(got);
                expected.len() == got.len() && pairs.all(|(one, other)| self.fits(one, other))
            }
            (Value::Object(expected), Value::Object(got)) => {
                let mut members = expected.iter();
                expected.len() == got.len()
                    && members
                        .all(|(key, value)| got.get(key).is_some_and(|got| self.fits(value, got)))
            }
            (expected, got) => expected == got,
        }
    }

    /// The text with every remembered value in the place of its name.
    pub fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(&format!("<{name}>"), value);
        }
        text
    }
}

fn name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?.strip_suffix('>')?;
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    (plain && !name.is_empty()).then_some(name)
}
