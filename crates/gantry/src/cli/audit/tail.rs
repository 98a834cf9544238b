//! `gantry audit tail`: the last calls, and those that come.

use std::collections::HashSet;
use std::time::Duration;

use gantry_protocol::timestamp;
use gantry_store::audit_log::{Follower, SegmentFile, segments};

use super::join::Join;
use super::record::Record;
use super::{TailOptions, failed, show};
use crate::cli::exit::Exit;
use crate::cli::stored_audit;

/// How often the record is looked at when it is followed.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) async fn run(options: &TailOptions) -> Result<(), Exit> {
    let folder = stored_audit::folder()?;
    // Before the last ones are read, so that none is missed between.
    let follower = options.follow.then(|| Follower::new(&folder)).transpose().map_err(failed)?;
    let mut shown = HashSet::new();
    for record in last(options.count)? {
        if !show(&record, options.json)? {
            return Ok(());
        }
        shown.insert(record.call);
    }
    match follower {
        Some(follower) => follow(follower, shown, options.json).await,
        None => Ok(()),
    }
}

/// The last calls that have ended, or of which no end is known, the latest last.
fn last(count: usize) -> Result<Vec<Record>, Exit> {
    let mut files = segments(&stored_audit::folder()?).map_err(failed)?;
    files.sort_by_key(|file| std::cmp::Reverse(file.written));
    let mut last: Vec<Record> = Vec::new();
    let mut join = Join::default();
    for file in files {
        // What was written before the first of so many holds nothing later.
        let written = timestamp::write(file.written + Duration::from_secs(1));
        if last.len() >= count && last.first().is_none_or(|first| first.at > written) {
            break;
        }
        let text = file.read().map_err(failed)?;
        for record in SegmentFile::records(&text).filter_map(Record::parse) {
            last.extend(join.add(record, file.is_open));
        }
        keep(&mut last, count);
    }
    // A volume holds the ends of what began in an earlier one, which is read later.
    let ended: HashSet<String> = last.iter().map(|it| it.call.clone()).collect();
    last.extend(join.unfinished().filter(|it| !ended.contains(&it.call)));
    keep(&mut last, count);
    Ok(last)
}

fn keep(records: &mut Vec<Record>, count: usize) {
    records.sort_by(|one, other| one.at.cmp(&other.at));
    records.drain(..records.len().saturating_sub(count));
}

/// Shows what is added, but nothing twice.
async fn follow(
    mut follower: Follower,
    mut shown: HashSet<String>,
    json: bool,
) -> Result<(), Exit> {
    loop {
        let added = follower.added().map_err(failed)?;
        for record in SegmentFile::records(&added).filter_map(Record::parse) {
            let is_new = !record.is_begun && !shown.remove(&record.call);
            if is_new && !show(&record, json)? {
                return Ok(());
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
