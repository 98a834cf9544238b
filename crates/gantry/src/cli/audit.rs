//! `gantry audit`: the record of calls, looked at, searched, checked and handed on.

mod filter;
mod join;
mod record;
mod row;
mod tail;
mod verify;

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use gantry_store::audit_log::{AuditError, SegmentFile, segments};

use self::filter::Filter;
use self::join::Join;
use self::record::Record;
use super::exit::{Code, Exit};
use super::{render, stored_audit};

/// What to do with the record.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// Show the last calls.
    Tail(TailOptions),
    /// Show the calls that fit.
    Search(SearchOptions),
    /// Check that nothing was changed, removed or moved.
    Verify(VerifyOptions),
    /// Write the record as JSON Lines.
    Export(ExportOptions),
}

/// How much to show.
#[derive(Debug, Args)]
pub(crate) struct TailOptions {
    /// How many calls.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "COUNT")]
    pub(crate) count: usize,

    /// Go on with what is recorded from now on, until Ctrl-C.
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which calls to show.
#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    #[command(flatten)]
    filter: filter::FilterOptions,

    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// How to check.
#[derive(Debug, Args)]
pub(crate) struct VerifyOptions {
    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// The configuration file, which may name another store.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Take the log as it is from now on: forget how long it was. Do this after you removed it
    /// yourself.
    #[arg(long)]
    pub(crate) reset_anchor: bool,
}

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    #[command(flatten)]
    filter: filter::FilterOptions,

    /// The file; standard output without this.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
}

/// Does it.
pub(crate) async fn run(verb: AuditVerb) -> Result<(), Exit> {
    match verb {
        AuditVerb::Tail(options) => tail::run(&options).await,
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
    let segments = segments(&stored_audit::folder()?).map_err(failed)?;
    Ok(segments.into_iter().filter(|segment| filter.may_be_in(segment)).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(error: AuditError) -> Exit {
    Exit::new(Code::Failed, error.to_string())
}
