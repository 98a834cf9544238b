//! Audit records for floods: calls that are refused too often are counted by principal, and one record for
//! each interval has the count, so that nothing is missing and nobody can fill the log.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gantry_protocol::timestamp;
use tokio::time::Instant;

use super::audit_record::put;
use super::settings::AuditSettings;

/// How many principals are told apart. What was counted is written before it is forgotten.
const PRINCIPALS: usize = 4096;

/// What was counted, by principal.
#[derive(Debug, Default)]
pub(super) struct Suppressed(Mutex<HashMap<Arc<str>, Count>>);

#[derive(Debug)]
struct Count {
    calls: u64,
    /// Since when they are counted.
    since: SystemTime,
    /// When they are to be told of.
    due: Instant,
}

impl Suppressed {
    /// Counts a call. The first of an interval has its line at once: if the program is killed, it is
    /// still known that there were some.
    pub(super) fn count(&self, principal: &Arc<str>, settings: &AuditSettings) -> Vec<String> {
        let (now, mut counts) = (Instant::now(), self.lock());
        if let Some(count) = counts.get_mut(principal) {
            count.calls += 1;
            if now < count.due {
                return Vec::new();
            }
            let line = count.take(principal, settings);
            count.due = now + settings.summary;
            return vec![line];
        }
        let forgotten = match counts.len() < PRINCIPALS {
            true => Vec::new(),
            false => lines(counts.drain(), settings),
        };
        let due = now + settings.summary;
        let mut count = Count { calls: 1, since: SystemTime::now(), due };
        let line = count.take(principal, settings);
        counts.insert(principal.clone(), count);
        forgotten.into_iter().chain([line]).collect()
    }

    /// The lines that are due, or all of them.
    pub(super) fn due(&self, all: bool, settings: &AuditSettings) -> Vec<String> {
        let now = Instant::now();
        let due = |_: &Arc<str>, count: &mut Count| all || now >= count.due;
        lines(self.lock().extract_if(due), settings)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Count {
    /// The line that tells of the calls so far; they are counted from zero then.
    fn take(&mut self, principal: &str, settings: &AuditSettings) -> String {
        let (now, calls) = (SystemTime::now(), std::mem::take(&mut self.calls));
        let since = std::mem::replace(&mut self.since, now);
        let mut out = String::from("\"at\":\"");
        timestamp::append(now, &mut out);
        out.push_str("\",\"event\":\"suppressed\"");
        put(&mut out, ",\"principal\":", principal, settings.name);
        // Writing to a string does not fail.
        let _ = write!(out, ",\"suppressed\":{calls},\"since\":\"");
        timestamp::append(since, &mut out);
        out.push('"');
        out
    }
}

fn lines(counts: impl Iterator<Item = (Arc<str>, Count)>, settings: &AuditSettings) -> Vec<String> {
    let counted = counts.filter(|(_, count)| count.calls > 0);
    counted.map(|(principal, mut count)| count.take(&principal, settings)).collect()
}
