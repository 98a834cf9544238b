//! `gantry tools pin` and `unpin`: what servers say of their tools and prompts, and whether that is
//! what was accepted.

pub(crate) mod page;

use std::path::PathBuf;

use gantry::RawJson;
use gantry_policy::Pins;
use gantry_policy::pins::PinError;
use serde::Deserialize;

use crate::admin_client::{self, AdminClient};
use crate::args::{GatewayTarget, Origin, PinOptions, UnpinOptions};
use crate::commands::tools::Opened;
use crate::commands::tools::target::open_target;
use crate::exit::{Code, Exit};
use crate::lock_file::LockFile;
use crate::render::{self, Style};
use crate::tool_sources;

/// What is pinned and what is held back, as the gateway tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Report {
    mode: String,
    held: Vec<HeldRow>,
    /// What has changed and is shown as it was pinned.
    changed: Vec<HeldRow>,
    pins: Vec<PinRow>,
}

/// A thing that is not as it was pinned.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct HeldRow {
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

pub(crate) async fn run(options: &PinOptions) -> Result<(), Exit> {
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
        render::say("nothing to accept: no definition has changed");
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

pub(crate) async fn unpin(options: &UnpinOptions) -> Result<(), Exit> {
    let book = PinClient::open(&options.reach).await?;
    book.unpin(&options.name).await?;
    render::say(&format!(
        "`{}` is no longer pinned; its next definition counts as new",
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
    let wrong = |error| Exit::bug(format!("invalid report of pins: {error}"));
    report.try_read().map_err(wrong)
}

/// Whose pins are meant.
pub(crate) struct PinClient {
    place: Place,
    lock: LockFile,
}

enum Place {
    /// A gateway that runs, so that what is done is in force at once.
    There(AdminClient),
    /// This process, which has asked the servers itself.
    Here { pins: Pins, _opened: Box<Opened> },
}

impl PinClient {
    /// The gateway if one runs, else the servers of the configuration and the lock file.
    pub(crate) async fn open(reached: &admin_client::GatewayTarget) -> Result<Self, Exit> {
        let config = tool_sources::configuration(reached.config.as_deref())?;
        let lock = LockFile::of(config.as_ref())?;
        // Pins belong to a configuration: a gateway with another one is not meant.
        let file = config.as_ref().map(|config| config.file.clone());
        let exact = admin_client::GatewayTarget { config: file, ..reached.clone() };
        match AdminClient::find(&exact).await {
            Ok(running) => Ok(Self { place: Place::There(running), lock }),
            Err(exit) if exit.code != Code::Unreachable || reached.is_named() => Err(exit),
            Err(_) => {
                let config = reached.config.clone();
                let options = GatewayTarget {
                    origin: Origin { config, ..Origin::default() },
                    ..GatewayTarget::default()
                };
                let opened = open_target(&options, None).await?;
                let pins = opened.guarding.as_ref().map(|it| it.policies.pins().clone());
                let pins =
                    pins.ok_or_else(|| Exit::bug("tools were opened without their policies"))?;
                Ok(Self { place: Place::Here { pins, _opened: Box::new(opened) }, lock })
            }
        }
    }

    pub(crate) async fn report(&self) -> Result<RawJson, Exit> {
        match &self.place {
            Place::There(running) => running.get("/api/pins").await,
            Place::Here { pins, .. } => Ok(pins.report()),
        }
    }

    /// Accepts what was shown, and nothing that took its place since.
    pub(crate) async fn accept(&self, row: &HeldRow) -> Result<(), Exit> {
        let name = format!("{}:{}", row.kind, row.path);
        match &self.place {
            Place::There(running) => {
                let query = match row.digest.as_str() {
                    "" => String::new(),
                    digest => format!("?digest={digest}"),
                };
                let page = admin_client::page_in("/api/pins/", &name, &format!("/accept{query}"));
                running.post(&page).await.map(drop)
            }
            Place::Here { pins, .. } => {
                let digest = Some(row.digest.as_str()).filter(|digest| !digest.is_empty());
                let accepted = pins.accept(&name, digest, "command line");
                self.keep(pins, accepted.map(drop))
            }
        }
    }

    pub(crate) async fn unpin(&self, name: &str) -> Result<(), Exit> {
        match &self.place {
            Place::There(running) => {
                running.post(&admin_client::page_in("/api/pins/", name, "/unpin")).await.map(drop)
            }
            Place::Here { pins, .. } => self.keep(pins, pins.unpin(name).map(drop)),
        }
    }

    /// Puts the pins as they are beside the configuration.
    pub(crate) async fn save_beside(&self) -> Result<PathBuf, Exit> {
        let lock = match &self.place {
            Place::Here { pins, .. } => pins.to_lock(),
            Place::There(running) => running.get("/api/pins/lock").await?,
        };
        self.lock.save_beside(&lock)
    }

    fn keep(&self, pins: &Pins, done: Result<(), PinError>) -> Result<(), Exit> {
        done.map_err(|error| {
            let code = match error {
                PinError::Unknown(_) => Code::NotFound,
                PinError::Ambiguous { .. } => Code::Usage,
                PinError::Full => Code::Failed,
                PinError::ChangedAgain(_) => Code::Refused,
            };
            Exit::new(code, error.to_string())
        })?;
        let saved = self.lock.write_over(pins);
        saved.map_err(|trouble| Exit::new(Code::Failed, trouble.to_string()))
    }
}
