//! `gantry audit`: the record of calls, looked at, searched, checked and handed on.

pub(crate) mod filter;
pub(crate) mod row;
pub(crate) mod verify;

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use gantry_protocol::timestamp;
use gantry_store::audit_log::{AuditError, Follower, SegmentFile, segments};

use crate::commands::audit::filter::{Filter, Join};
use crate::commands::audit::row::Record;
use crate::exit::{Code, Exit};
use crate::render;
use crate::runtime::audit_log;

/// What to do with the record.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// Show the last calls.
    Tail(TailOptions),
    /// Show matching calls.
    Search(SearchOptions),
    /// Verify the hash chain: nothing was changed, removed or reordered.
    Verify(VerifyOptions),
    /// Export the audit log as JSON Lines.
    Export(ExportOptions),
}

/// How much to show.
#[derive(Debug, Args)]
pub(crate) struct TailOptions {
    /// Number of calls.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "COUNT")]
    pub(crate) count: usize,

    /// Follow new calls until Ctrl-C.
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Print JSON Lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which calls to show.
#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    #[command(flatten)]
    filter: filter::FilterOptions,

    /// Print JSON Lines.
    #[arg(long)]
    json: bool,
}

/// How to check.
#[derive(Debug, Args)]
pub(crate) struct VerifyOptions {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Configuration file, which may name another store.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Accept the log as it is, after you removed it yourself.
    #[arg(long)]
    pub(crate) reset_anchor: bool,
}

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    #[command(flatten)]
    filter: filter::FilterOptions,

    /// File to write; by default standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
}

/// Does it.
pub(crate) async fn run(verb: AuditVerb) -> Result<(), Exit> {
    match verb {
        AuditVerb::Tail(options) => tail(&options).await,
        AuditVerb::Search(options) => search(&options),
        AuditVerb::Verify(options) => verify::run(&options).await,
        AuditVerb::Export(options) => export(&options),
    }
}

fn search(options: &SearchOptions) -> Result<(), Exit> {
    let filter = options.filter.read()?;
    let mut join = Join::default();
    for segment in all(&filter)? {
        let text = segment.read().map_err(failed)?;
        for record in SegmentFile::records(&text).filter_map(Record::parse) {
            if let Some(record) = join.add(record, segment.is_open).filter(|it| filter.fits(it))
                && !show(&record, options.json)?
            {
                return Ok(());
            }
        }
    }
    for record in join.unfinished().filter(|it| filter.fits(it)) {
        if !show(&record, options.json)? {
            break;
        }
    }
    Ok(())
}

/// Writes a record; false when the reader has seen enough.
fn show(record: &Record, json: bool) -> Result<bool, Exit> {
    match json {
        true => render::stream_json(&format!("{}\n", record.object)),
        false => row::print(record),
    }
}

/// Every line as it was recorded, also where a call has two.
fn export(options: &ExportOptions) -> Result<(), Exit> {
    let filter = options.filter.read()?;
    let unwritten = |error: std::io::Error| {
        let place = options.out.as_deref().unwrap_or(Path::new("-"));
        Exit::new(Code::Failed, format!("{} cannot be written: {error}", place.display()))
    };
    // It may tell as much as the record itself, which nobody else may read either.
    let create = |path: &Path| {
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    };
    let mut file = options.out.as_deref().map(create).transpose().map_err(unwritten)?;
    for segment in all(&filter)? {
        let text = segment.read().map_err(failed)?;
        let records = SegmentFile::records(&text).filter_map(Record::parse);
        let records = records.filter(|record| filter.fits(record));
        let lines: String = records.map(|record| format!("{}\n", record.object)).collect();
        let goes_on = match &mut file {
            Some(file) => file.write_all(lines.as_bytes()).map(|()| true).map_err(unwritten)?,
            None => render::stream_json(&lines)?,
        };
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// The volumes that may hold what is looked for.
fn all(filter: &Filter) -> Result<Vec<SegmentFile>, Exit> {
    let segments = segments(&audit_log::folder()?).map_err(failed)?;
    Ok(segments.into_iter().filter(|segment| filter.may_be_in(segment)).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(error: AuditError) -> Exit {
    Exit::new(Code::Failed, error.to_string())
}

/// How often the record is looked at when it is followed.
const PAUSE: Duration = Duration::from_millis(250);

pub(crate) async fn tail(options: &TailOptions) -> Result<(), Exit> {
    let folder = audit_log::folder()?;
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
    let mut files = segments(&audit_log::folder()?).map_err(failed)?;
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
