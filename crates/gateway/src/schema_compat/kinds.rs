//! Sets of kinds of values, as `type` names them.

use std::ops::{BitAnd, BitOr};

use serde_json::Value;

/// A set of kinds of values. Numbers are two kinds: the integers and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    const FRACTION: Self = Self(8);
    pub(super) const NUMBER: Self = Self(4 | 8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ALL: Self = Self(127);

    const NAMES: [(&str, Self); 7] = [
        ("null", Self::NULL),
        ("boolean", Self::BOOLEAN),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("string", Self::STRING),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
    ];

    /// What `type` says, or none when it is no list of names.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let named = |value: &Value| {
            let text = value.as_str()?;
            Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, kinds)| *kinds)
        };
        match value {
            Value::Array(names) => {
                names.iter().try_fold(Self::NONE, |all, it| Some(all | named(it)?))
            }
            name => named(name),
        }
    }

    /// The kind of one value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => match number.as_f64() {
                Some(float) if float.fract() != 0.0 => Self::FRACTION,
                _ => Self::INTEGER,
            },
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self & other == other
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// One set for each name. Integers are not named beside the other numbers.
    pub(super) fn split(self) -> Vec<Self> {
        let fractions = !(self & Self::FRACTION).is_empty();
        let sets = Self::NAMES.iter().map(|(_, kinds)| self & *kinds);
        let mut sets: Vec<Self> = sets.filter(|kinds| !kinds.is_empty()).collect();
        sets.retain(|kinds| !fractions || *kinds != Self::INTEGER);
        sets.dedup();
        sets
    }

    /// "string or null".
    pub(super) fn words(self) -> String {
        if self == Self::ALL {
            return "anything".to_owned();
        }
        let name = |kinds: Self| {
            let holds = |(_, named): &&(&str, Self)| named.contains(kinds);
            // The narrowest name stands last.
            Self::NAMES.iter().rev().find(holds).map_or("", |(name, _)| *name)
        };
        self.split().into_iter().map(name).collect::<Vec<_>>().join(" or ")
    }
}

impl BitAnd for Kinds {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
