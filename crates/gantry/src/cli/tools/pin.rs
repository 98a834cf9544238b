//! `gantry tools pin` and `unpin`: what servers say of their tools and prompts, and whether that is
//! what was accepted.

mod page;
mod pin_client;

use gantry::RawJson;
use serde::Deserialize;

use self::pin_client::PinClient;
use crate::cli::args::{PinOptions, UnpinOptions};
use crate::cli::exit::{Code, Exit};
use crate::cli::render::{self, Style};

/// What is pinned and what is held back, as the gateway tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Report {
    mode: String,
    held: Vec<HeldRow>,
    /// What has changed and is shown as it was pinned.
    changed: Vec<HeldRow>,
    pins: Vec<PinRow>,
}

/// A thing that is not as it was pinned.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct HeldRow {
    path: String,
    server: String,
    kind: String,
    name: String,
    reason: String,
    text: String,
    digest: String,
    class: Option<String>,
    changes: Vec<ChangeRow>,
    differences: Vec<DifferenceRow>,
    #[serde(rename = "suspicions")]
    findings: Vec<FindingRow>,
}

/// A pin.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PinRow {
    path: String,
    server: String,
    kind: String,
    name: String,
    accepted_by: String,
    first_seen: String,
    offered: bool,
    new_since: Option<String>,
    renamed_from: Option<String>,
    #[serde(rename = "suspicions")]
    findings: Vec<FindingRow>,
}

/// What changed, and how far that reaches.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct ChangeRow {
    class: String,
    place: String,
    text: String,
}

/// A value before and now.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct DifferenceRow {
    place: String,
    before: Option<String>,
    now: Option<String>,
}

/// What a person should look at.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct FindingRow {
    place: String,
    what: String,
    excerpt: String,
}

pub(super) async fn run(options: &PinOptions) -> Result<(), Exit> {
    let book = PinClient::open(&options.reach).await?;
    let told = book.report().await?;
    let report = read(&told)?;
    let meant = meant(&report, options)?;
    if options.json && (options.diff || options.check || !accepts(options)) {
        render::print(&render::pretty(&told))?;
    } else if options.diff {
        render::print_foreign(&page::diff(&meant, Style::of_stdout()))?;
    } else if options.check || !accepts(options) {
        render::print_foreign(&page::all(&report, Style::of_stdout()))?;
    } else if meant.is_empty() {
        render::say("nothing to accept: every definition is as it was pinned");
    } else {
        for row in &meant {
            book.accept(row).await?;
            render::say(&format!("accepted: {}", page::line(row)));
        }
    }
    if options.lock {
        let file = book.save_beside().await?;
        render::say(&format!("the pins are kept in {} from now on", file.display()));
    }
    let count = report.held.iter().filter(|it| meant.iter().any(|row| row.path == it.path)).count();
    match options.check && count > 0 {
        true => Err(Exit::new(Code::Refused, format!("{} held back", held(count))).hint(
            "`gantry tools pin --diff` shows how they differ, `gantry tools pin NAME` accepts",
        )),
        false => Ok(()),
    }
}

pub(super) async fn unpin(options: &UnpinOptions) -> Result<(), Exit> {
    let book = PinClient::open(&options.reach).await?;
    book.unpin(&options.name).await?;
    render::say(&format!(
        "`{}` is pinned no longer; what it says next counts as new",
        options.name
    ));
    Ok(())
}

/// Says of each server what is not as it was pinned, in a line.
pub(crate) fn tell_lines(lines: &[String]) {
    for line in lines {
        render::say(&render::one_line(line));
    }
}

fn held(count: usize) -> String {
    if count == 1 { "1 definition is".to_owned() } else { format!("{count} definitions are") }
}

/// Whether the options name something to accept.
fn accepts(options: &PinOptions) -> bool {
    options.all || options.server.is_some() || !options.names.is_empty()
}

/// What is not as it was pinned and meant by the options; all of it if they name nothing. What is
/// pinned already is accepted by a person if it is named.
fn meant(report: &Report, options: &PinOptions) -> Result<Vec<HeldRow>, Exit> {
    let rows = || report.held.iter().chain(&report.changed);
    if options.names.is_empty() {
        let of_server = |row: &&HeldRow| options.server.as_ref().is_none_or(|it| *it == row.server);
        return Ok(rows().filter(of_server).cloned().collect());
    }
    let mut meant: Vec<HeldRow> = Vec::new();
    for name in &options.names {
        if let Some(server) = server(report, name)? {
            meant.extend(rows().filter(|row| row.server == server).cloned());
            continue;
        }
        let is_called = |path: &str, kind: &str, shown: &str| {
            let bare = name.strip_prefix(kind).and_then(|it| it.strip_prefix(':')).unwrap_or(name);
            path == bare
                || shown == bare
                || path.rsplit_once('/').is_some_and(|(_, own)| own == bare)
        };
        let row = rows().find(|it| is_called(&it.path, &it.kind, &it.name));
        let pinned = report.pins.iter().find(|it| is_called(&it.path, &it.kind, &it.name));
        match (row, pinned) {
            (Some(row), _) => meant.push(HeldRow { name: name.clone(), ..row.clone() }),
            (None, Some(_)) if options.diff || options.check => {}
            (None, Some(pin)) => {
                let (path, kind) = (pin.path.clone(), pin.kind.clone());
                meant.push(HeldRow { name: name.clone(), path, kind, ..HeldRow::default() });
            }
            (None, None) => {
                let text = format!("no server offers `{name}`, and nothing of that name is pinned");
                return Err(Exit::new(Code::NotFound, text)
                    .hint("`gantry tools pin` lists what is pinned and what is held back"));
            }
        }
    }
    Ok(meant)
}

/// The server that a name means: `server:NAME`, or the bare name of one, if nothing of another server
/// is listed under it.
fn server<'a>(report: &'a Report, name: &'a str) -> Result<Option<&'a str>, Exit> {
    if let Some(server) = name.strip_prefix("server:") {
        return Ok(Some(server));
    }
    let rows = || report.held.iter().chain(&report.changed);
    let listed = || {
        let rows = rows().map(|it| (&*it.server, &*it.name));
        rows.chain(report.pins.iter().map(|it| (&*it.server, &*it.name)))
    };
    if !listed().any(|(server, _)| server == name) {
        return Ok(None);
    }
    match listed().any(|(server, shown)| shown == name && server != name) {
        false => Ok(Some(name)),
        true => Err(Exit::new(Code::Usage, format!("`{name}` is a server, and a tool of another"))
            .hint(format!("write `server:{name}`, or `tool:SERVER/{name}` for the tool"))),
    }
}

fn read(report: &RawJson) -> Result<Report, Exit> {
    let wrong = |error| Exit::bug(format!("the report of pins is not understood: {error}"));
    report.try_read().map_err(wrong)
}
