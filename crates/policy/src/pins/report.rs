//! Reports on pins: as JSON for the administration and the command line, and one line for each server for
//! the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::Pins;
use super::held::{HeldDefinition, Reason};
use super::offered::Seen;
use super::pin::Pin;
use super::table::PinTable;
use crate::injection::InjectionFinding;

impl Pins {
    /// Everything that is pinned, everything that is held back, and everything that has changed and is
    /// shown as it was pinned.
    pub fn report(&self) -> RawJson {
        let rows = |notes: Vec<Arc<HeldDefinition>>| -> Vec<RawJson> {
            notes.iter().map(|held| held_row(held)).collect()
        };
        let (held, changed) = (rows(self.held()), rows(self.changed()));
        let table = self.table();
        let pins: Vec<RawJson> = table.pins.values().map(|pin| pin_row(pin, &table)).collect();
        ObjectWriter::new()
            .value("mode", table.settings.mode.word())
            .array("held", &held)
            .array("changed", &changed)
            .array("pins", &pins)
            .finish()
    }
}

fn pin_row(pin: &Pin, table: &PinTable) -> RawJson {
    let offered = table.offer(&pin.key);
    let shown = offered.map_or(&*pin.key.name, |seen| seen.shown.as_str());
    let since = pin.is_late.then_some(&pin.first_seen);
    ObjectWriter::new()
        .value("path", &pin.key.path())
        .value("server", &*pin.key.server)
        .value("kind", pin.key.kind.word())
        .value("name", shown)
        .value("digest", &pin.digest.to_string())
        .value("firstSeen", &pin.first_seen)
        .value("acceptedBy", &pin.accepted_by)
        .value("offered", &offered.is_some())
        .value_some("newSince", since)
        .value_some("renamedFrom", pin.renamed_from.as_ref())
        .array("suspicions", &offered.map(|it| flags(it)).unwrap_or_default())
        .finish()
}

fn held_row(held: &HeldDefinition) -> RawJson {
    let seen = &held.seen;
    let changes: Vec<RawJson> = held.changes.iter().map(change).collect();
    let difference = |it: super::Difference| {
        ObjectWriter::new()
            .value("place", &it.place)
            .value_some("before", it.before)
            .value_some("now", it.now)
            .finish()
    };
    let differences: Vec<RawJson> = held.differences().into_iter().map(difference).collect();
    ObjectWriter::new()
        .value("path", &seen.key.path())
        .value("server", &*seen.key.server)
        .value("kind", seen.key.kind.word())
        .value("name", &seen.shown)
        .value("reason", held.reason.word())
        .value("text", &held.explain(&seen.shown))
        .value("digest", &seen.digest.to_string())
        .value_some("class", held.class().map(|class| class.to_string()))
        .array("changes", &changes)
        .array("differences", &differences)
        .array("suspicions", &flags(seen))
        .finish()
}

fn change(change: &gantry_gateway::DefinitionChange) -> RawJson {
    ObjectWriter::new()
        .value("class", &change.class.to_string())
        .value("place", &change.place)
        .value("text", &change.text)
        .finish()
}

fn flags(seen: &Seen) -> Vec<RawJson> {
    seen.findings.iter().map(InjectionFinding::to_json).collect()
}

/// So many things are named in one line.
const NAMED: usize = 5;

/// What is held back of a server, and what has changed otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The server; empty for the gateway's own tools.
    pub server: Arc<str>,
    /// How many definitions are held back.
    pub held: usize,
    /// How many have changed, and are shown as they were pinned.
    pub changed: usize,
    /// All of this in words, with the commands that show and accept it.
    pub text: String,
}

/// One line for each server.
pub(super) fn lines<'a>(notes: impl Iterator<Item = &'a Arc<HeldDefinition>>) -> Vec<Line> {
    let mut servers: BTreeMap<&Arc<str>, Vec<&HeldDefinition>> = BTreeMap::new();
    for note in notes.filter(|it| it.reason != Reason::Rewritten) {
        servers.entry(&note.seen.key.server).or_default().push(note);
    }
    servers.into_iter().map(|(server, notes)| line(server, notes)).collect()
}

fn line(server: &Arc<str>, mut notes: Vec<&HeldDefinition>) -> Line {
    let order =
        |note: &&HeldDefinition| (note.seen.key.clone(), std::cmp::Reverse(note.seen.number));
    notes.sort_by_cached_key(order);
    // Of a thing that is there twice, the later definition counts.
    notes.dedup_by(|one, other| one.seen.key == other.seen.key);
    let (held, changed): (Vec<&HeldDefinition>, Vec<&HeldDefinition>) =
        notes.into_iter().partition(|it| it.reason.is_held());
    let named =
        |notes: &[&HeldDefinition]| listed(&notes.iter().map(|it| it.brief()).collect::<Vec<_>>());
    let mut parts = Vec::new();
    if !held.is_empty() {
        let noun = if held.len() == 1 { "definition is" } else { "definitions are" };
        parts.push(format!("{} {noun} held back: {}", held.len(), named(&held)));
    }
    if !changed.is_empty() {
        let noun = if changed.len() == 1 { "definition has" } else { "definitions have" };
        parts.push(format!(
            "{} {noun} changed, and clients see what was pinned: {}",
            changed.len(),
            named(&changed)
        ));
    }
    let (whose, word) = match &**server {
        "" => ("this gateway's own tools".to_owned(), "--all".to_owned()),
        name => (format!("server `{name}`"), word(name)),
    };
    let diff = if word == "--all" { String::new() } else { format!(" {word}") };
    let text = format!(
        "{whose}: {}; `gantry tools pin --diff{diff}` shows how, `gantry tools pin {word}` accepts",
        parts.join("; ")
    );
    Line { server: server.clone(), held: held.len(), changed: changed.len(), text }
}

impl Line {
    pub(super) fn log(&self) {
        match self.held {
            0 => tracing::info!("{}", self.text),
            _ => tracing::warn!("{}", self.text),
        }
    }
}

/// The name of a server as it is typed in a shell.
fn word(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter);
    match name.chars().all(is_plain) && !name.starts_with('-') {
        true => name.to_owned(),
        false => format!("'server:{}'", name.replace('\'', "'\\''")),
    }
}

fn listed(names: &[String]) -> String {
    let (first, more) = names.split_at(names.len().min(NAMED));
    let more = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// What was pinned without asking, by server.
#[derive(Debug, Default)]
pub(super) struct Told {
    new: BTreeMap<Arc<str>, Vec<String>>,
    suspicious: BTreeMap<Arc<str>, Vec<String>>,
}

impl Told {
    /// Takes note of what a person should know of a thing.
    pub(super) fn note(&mut self, seen: &Seen, pin: &Pin) {
        let (server, name) = (&seen.key.server, &seen.shown);
        let new = match &pin.renamed_from {
            Some(former) => Some(format!("`{name}` (was called `{former}`)")),
            None => pin.is_late.then(|| format!("`{name}`")),
        };
        if let Some(new) = new {
            self.new.entry(server.clone()).or_default().push(new);
        }
        for finding in &seen.findings {
            let (place, what, excerpt) = (&finding.place, &finding.what, &finding.excerpt);
            let text = format!("`{name}` ({place} {what}: {excerpt})");
            self.suspicious.entry(server.clone()).or_default().push(text);
        }
    }

    /// Says it, in a line for each server.
    pub(super) fn tell(&self) {
        let whose = |server: &str| match server {
            "" => "this gateway's own tools".to_owned(),
            name => format!("server `{name}`"),
        };
        for (server, new) in &self.new {
            tracing::warn!("{}: new since it was pinned: {}", whose(server), listed(new));
        }
        for (server, found) in &self.suspicious {
            tracing::warn!(
                "{}: suspicious definitions: {}; `gantry tools pin` shows all",
                whose(server),
                listed(found)
            );
        }
    }
}
