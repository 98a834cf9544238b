//! Finds a key that is given twice, however deep. Readers of JSON disagree on which of the two
//! counts, so that a schema would mean one thing to a client and another here.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The line and the message of the first key that comes twice in one object. The text is JSON.
pub(super) fn check(text: &[u8]) -> Result<(), (usize, String)> {
    match serde_json::from_slice::<Unique>(text) {
        // Numbers that do not fit are nothing to complain about here.
        Err(error) if error.is_data() => {
            let whole = error.to_string();
            let message = whole.rsplit_once(" at line ").map_or(&*whole, |(message, _)| message);
            Err((error.line(), message.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Any value in which no object has a key twice.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Search)
    }
}

struct Search;

impl<'de> Visitor<'de> for Search {
    type Value = Unique;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is given twice")));
            }
            seen.insert(key);
            map.next_value::<Unique>()?;
        }
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Unique, A::Error> {
        while sequence.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }
}
