//! A day's counts as they are kept.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::Kind;

/// What was used up on one day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) day: u64,
    pub(super) counts: HashMap<(Kind, Box<str>), u64>,
}

/// The same as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    day: u64,
    principals: BTreeMap<Box<str>, u64>,
    tools: BTreeMap<Box<str>, u64>,
}

impl Document {
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let written: Written = serde_json::from_str(text)?;
        let of = |kind, counts: BTreeMap<Box<str>, u64>| {
            counts.into_iter().map(move |(name, count)| ((kind, name), count))
        };
        let principals = of(Kind::Principal, written.principals);
        let counts = principals.chain(of(Kind::Tool, written.tools)).collect();
        Ok(Self { day: written.day, counts })
    }

    pub(super) fn write(&self) -> Result<String, serde_json::Error> {
        let of = |wanted| {
            let counts = self.counts.iter().filter(|((kind, _), _)| *kind == wanted);
            counts.map(|((_, name), count)| (name.clone(), *count)).collect()
        };
        let (principals, tools) = (of(Kind::Principal), of(Kind::Tool));
        serde_json::to_string(&Written { day: self.day, principals, tools })
    }

    /// Adds what was used up besides. A later day takes the place of an earlier one.
    pub(super) fn add(&mut self, more: &Self) {
        if more.day > self.day {
            *self = Self { day: more.day, counts: HashMap::new() };
        }
        if more.day == self.day {
            for (key, count) in &more.counts {
                let total = self.counts.entry(key.clone()).or_default();
                *total = total.saturating_add(*count);
            }
        }
    }
}
