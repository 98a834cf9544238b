//! JSON as values of CEL, within bounds: made once, and borrowing the texts that say what they show.
//! A member that is there twice is refused: another program might take the other one. So is one that
//! differs from what the condition asks for in capital letters only.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use gantry_protocol::RawJson;
use gantry_protocol::json::is_same_but_for_case;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::ConditionBounds;

/// A value that may borrow from the JSON it was read from.
pub(super) type JsonVal<'de> = Box<dyn Val + 'de>;

/// The value, or what is wrong with it.
///
/// `members` are those that the condition asks for.
pub(super) fn read<'a>(
    json: &'a RawJson,
    bounds: ConditionBounds,
    members: &[String],
) -> Result<JsonVal<'a>, &'static str> {
    let text = json.as_str();
    if text.len() > bounds.bytes {
        return Err("are too large to be looked at");
    }
    let (left, doubled) = (Cell::new(bounds.values), Cell::new(false));
    let other_case = Cell::new(false);
    let reading = Reading { left: &left, doubled: &doubled, other_case: &other_case, members };
    let read = reading.deserialize(&mut serde_json::Deserializer::from_str(text));
    read.map_err(|_| match (doubled.get(), left.get()) {
        _ if other_case.get() => {
            "have a member that differs from one in the condition in capital letters only"
        }
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
    other_case: &'a Cell<bool>,
    members: &'a [String],
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = JsonVal<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = JsonVal<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Box::new(CelNull))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Box::new(CelBool::from(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Box::new(CelInt::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(match i64::try_from(value) {
            Ok(value) => Box::new(CelInt::from(value)),
            Err(_) => Box::new(CelUInt::from(value)),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Box::new(CelDouble::from(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Box::new(CelString::from(value.to_owned())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Box::new(CelString::from(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Box::new(CelList::from(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut map = HashMap::new();
        while let Some(name) = members.next_key_seed(Name)? {
            if self.members.iter().any(|it| is_same_but_for_case(name.as_bytes(), it)) {
                self.other_case.set(true);
                return Err(A::Error::custom("other case"));
            }
            let value = members.next_value_seed(self)?;
            if map.insert(CelMapKey::String(name.into()), value).is_some() {
                self.doubled.set(true);
                return Err(A::Error::custom("twice"));
            }
        }
        Ok(Box::new(CelMap::from(map)))
    }
}

/// Reads the name of a member.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }
}
