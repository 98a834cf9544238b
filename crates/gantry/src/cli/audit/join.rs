//! Brings the two lines of a call together, where it has two.

use std::collections::BTreeMap;

use super::record::Record;

/// What is said of a call whose gateway was gone before its end.
pub(super) const UNKNOWN: &str = "unknown: the gateway stopped";

/// What is said of a call that is not over.
const UNDER_WAY: &str = "under way";

/// Calls that have begun and not ended, by their number, and whether their program lives.
#[derive(Debug, Default)]
pub(super) struct Join(BTreeMap<String, (Record, bool)>);

impl Join {
    /// Takes a line; gives the call when it is over.
    pub(super) fn add(&mut self, record: Record, is_open: bool) -> Option<Record> {
        if record.is_begun {
            self.0.insert(record.call.clone(), (record, is_open));
            return None;
        }
        self.0.remove(&record.call);
        Some(record)
    }

    /// The calls of which no end is known, in the order in which they began.
    pub(super) fn unfinished(self) -> impl Iterator<Item = Record> {
        let mut records: Vec<_> = self.0.into_values().collect();
        records.sort_by(|one, other| one.0.at.cmp(&other.0.at));
        let told = |(record, is_open): (Record, bool)| {
            record.ended(if is_open { UNDER_WAY } else { UNKNOWN })
        };
        records.into_iter().map(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(call: &str, phase: &str) -> Record {
        let members = format!("\"at\":\"2026\",\"call\":\"{call}\",\"phase\":\"{phase}\"");
        Record::parse(members.as_bytes()).expect("a record")
    }

    #[test]
    fn a_call_is_shown_once() {
        let mut join = Join::default();
        assert!(join.add(record("a", "begun"), false).is_none());
        assert!(join.add(record("b", "begun"), true).is_none());
        assert!(join.add(record("c", "begun"), false).is_none());
        assert_eq!(join.add(record("a", "ended"), false).map(|it| it.call).as_deref(), Some("a"));
        assert_eq!(join.add(record("d", "ended"), false).map(|it| it.call).as_deref(), Some("d"));
        let left: Vec<_> = join.unfinished().map(|it| (it.text("outcome"), it.call)).collect();
        let expected = [(UNDER_WAY, "b"), (UNKNOWN, "c")];
        assert_eq!(left, expected.map(|(outcome, call)| (outcome.to_owned(), call.to_owned())));
    }
}
