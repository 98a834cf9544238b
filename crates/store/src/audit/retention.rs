//! Which volumes have been kept for long enough.

use std::time::{Duration, SystemTime};

use super::settings::AuditSettings;

/// A volume that has ended, or one that has not.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) written: SystemTime,
    pub(super) has_ended: bool,
}

/// The volumes that are to go, the oldest first, each with the reason. Those that are still written
/// count, but stay.
pub(super) fn outdated(
    mut candidates: Vec<Candidate>,
    settings: &AuditSettings,
    now: SystemTime,
) -> Vec<(String, &'static str)> {
    candidates.sort_by(|one, other| one.name.cmp(&other.name));
    let mut total: u64 = candidates.iter().map(|it| it.bytes).sum();
    let mut gone = Vec::new();
    for candidate in candidates.into_iter().filter(|it| it.has_ended) {
        // A clock that was set back makes nothing older.
        let age = now.duration_since(candidate.written).unwrap_or(Duration::ZERO);
        let why = match () {
            () if age > settings.retain => "age",
            () if total > settings.size => "size",
            () => continue,
        };
        total -= candidate.bytes;
        gone.push((candidate.name, why));
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_go_and_the_oldest_of_too_many() {
        let now = SystemTime::now();
        let day = Duration::from_secs(86_400);
        let volume = |name: &str, bytes, days, has_ended| Candidate {
            name: name.to_owned(),
            bytes,
            written: now - day * days,
            has_ended,
        };
        let settings = AuditSettings { retain: day * 90, size: 100, ..AuditSettings::default() };
        let cases = [
            (vec![volume("a", 1, 91, true), volume("b", 1, 89, true)], vec![("a", "age")]),
            (vec![volume("a", 1, 91, false)], vec![]),
            (vec![volume("b", 60, 1, true), volume("a", 60, 2, true)], vec![("a", "size")]),
            (vec![volume("a", 90, 2, false), volume("b", 60, 2, true)], vec![("b", "size")]),
            (vec![volume("a", 50, 1, true), volume("b", 50, 1, true)], vec![]),
        ];
        for (volumes, expected) in cases {
            let case = format!("{volumes:?}");
            let gone = outdated(volumes, &settings, now);
            let gone: Vec<_> = gone.iter().map(|(name, why)| (name.as_str(), *why)).collect();
            assert_eq!(gone, expected, "{case}");
        }
    }
}
