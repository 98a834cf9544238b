//! TOML as JSON, with marks that tell where each part was written.

use gantry_protocol::RawJson;
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

/// Which byte of the JSON was written where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) plain: usize,
    pub(crate) written: usize,
}

/// A whole text, converted.
#[derive(Debug, Default)]
pub(crate) struct Converted {
    pub(crate) json: Vec<u8>,
    /// In the order of the JSON.
    pub(crate) marks: Vec<Mark>,
}

/// Why a text is not TOML, and at which byte.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) reason: String,
}

pub(crate) fn to_json(text: &[u8]) -> Result<Converted, Fault> {
    let text = std::str::from_utf8(text)
        .map_err(|error| Fault { at: error.valid_up_to(), reason: "not UTF-8".to_owned() })?;
    let table = DeTable::parse(text).map_err(|error| Fault {
        at: error.span().map_or(0, |span| span.start),
        reason: error.message().to_owned(),
    })?;
    let mut converted = Converted::default();
    converted.table(table.get_ref());
    Ok(converted)
}

impl Converted {
    fn table(&mut self, table: &DeTable<'_>) {
        let mut entries: Vec<(&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)> =
            table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        self.json.push(b'{');
        for (index, (key, value)) in entries.into_iter().enumerate() {
            if index > 0 {
                self.json.push(b',');
            }
            self.mark(key.span().start);
            self.raw(&RawJson::string(key.get_ref()));
            self.json.push(b':');
            self.value(value);
        }
        self.json.push(b'}');
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) {
        self.mark(value.span().start);
        match value.get_ref() {
            DeValue::String(text) => self.raw(&RawJson::string(text)),
            DeValue::Integer(number) => self.raw(&integer(number)),
            DeValue::Float(number) => {
                let finite = number.as_str().parse().ok().filter(|it: &f64| it.is_finite());
                self.raw(&RawJson::from(serde_json::Value::from(finite)));
            }
            DeValue::Boolean(flag) => self.raw(&RawJson::from(serde_json::Value::from(*flag))),
            DeValue::Datetime(time) => self.raw(&RawJson::string(&time.to_string())),
            DeValue::Array(values) => {
                self.json.push(b'[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.json.push(b',');
                    }
                    self.value(value);
                }
                self.json.push(b']');
            }
            DeValue::Table(table) => self.table(table),
        }
    }

    fn mark(&mut self, written: usize) {
        self.marks.push(Mark { plain: self.json.len(), written });
    }

    fn raw(&mut self, value: &RawJson) {
        self.json.extend_from_slice(value.bytes());
    }
}

/// A number that JSON's readers cannot hold is told as a text, which no key takes for a number.
fn integer(number: &DeInteger<'_>) -> RawJson {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => RawJson::from(serde_json::Value::from(number)),
        Err(_) => RawJson::string(number.as_str()),
    }
}
