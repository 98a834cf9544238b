//! Pins and what is held back, as JSON for the administration and the command line.

use std::sync::Arc;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::held::HeldDefinition;
use super::pin::Pin;
use super::table::PinTable;
use super::{Pins, Seen};
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
