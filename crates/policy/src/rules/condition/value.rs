//! JSON as values of CEL, within bounds. A member that is there twice is refused: another program
//! might take the other one.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cel::Value;
use cel::objects::{Key, Map};
use gantry_protocol::RawJson;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::ConditionBounds;

/// The value, or what is wrong with it.
pub(super) fn read(json: &RawJson, bounds: ConditionBounds) -> Result<Value, &'static str> {
    if json.as_str().len() > bounds.bytes {
        return Err("are too large to be looked at");
    }
    let (left, doubled) = (Cell::new(bounds.values), Cell::new(false));
    let reading = Reading { left: &left, doubled: &doubled };
    let read = reading.deserialize(&mut serde_json::Deserializer::from_str(json.as_str()));
    read.map_err(|_| match (doubled.get(), left.get()) {
        (true, _) => "have a member twice",
        (false, 0) => "have too many values to be looked at",
        (false, _) => "cannot be read",
    })
}

#[derive(Clone, Copy)]
struct Reading<'a> {
    /// How many more values there may be.
    left: &'a Cell<usize>,
    doubled: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::UInt(value), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(Arc::new(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::List(Arc::new(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = HashMap::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if map.insert(Key::String(Arc::new(key)), value).is_some() {
                self.doubled.set(true);
                return Err(A::Error::custom("twice"));
            }
        }
        Ok(Value::Map(Map { map: Arc::new(map) }))
    }
}
