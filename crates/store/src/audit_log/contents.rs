//! What the list of segments says: which there are, where each ends, and what retention removed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::removal::Removal;

/// What happened to a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Event {
    /// It was begun.
    Opened,
    /// It was ended in good order.
    Closed,
    /// Its program was gone before it was ended.
    Left,
    /// It was removed, because it was too old or there was too much.
    Removed,
    /// The list was written anew, with the volumes that are left.
    Renewed,
}

/// A line of the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) at: String,
    pub(super) event: Event,
    /// On disk it is the `volume`, as in the first line of each segment; `segment` was written for
    /// a short time.
    #[serde(
        rename = "volume",
        alias = "segment",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) segment: Option<String>,
    #[serde(flatten)]
    pub(super) end: Option<End>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// When a segment that is removed was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// When a segment that is removed, or whose program was gone, was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    /// How often the list was renewed, at its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<u64>,
    /// What retention removed before the list was renewed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) removed: Vec<Removal>,
}

/// Where a volume ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// The code of the last line.
    pub(super) last: String,
    /// The code of what stands after the last whole line, if something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<String>,
}

/// What the list says of a volume.
#[derive(Debug, Clone, Default)]
pub(super) struct Fate {
    pub(super) end: Option<End>,
    /// Whether it ended because its program was gone.
    pub(super) is_left: bool,
    pub(super) is_removed: bool,
    /// When it was begun.
    pub(super) opened: String,
    /// When it was last written, once it has ended.
    pub(super) written: String,
}

/// Everything that the list says.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub(super) segments: BTreeMap<String, Fate>,
    /// What retention removed, by reason.
    pub(super) removals: Vec<Removal>,
    /// How often the list was renewed.
    pub(super) generation: u64,
}

impl Entry {
    pub(super) fn new(at: String, event: Event, segment: &str) -> Self {
        Self { segment: Some(segment.to_owned()), ..Self::bare(at, event) }
    }

    fn bare(at: String, event: Event) -> Self {
        let (segment, end, why, from, to) = (None, None, None, None, None);
        Self { at, event, segment, end, why, from, to, generation: None, removed: Vec::new() }
    }

    /// The inside of the object that it is.
    pub(super) fn members(&self) -> Vec<u8> {
        let object = serde_json::to_vec(self).unwrap_or_default();
        object.strip_prefix(b"{").and_then(|it| it.strip_suffix(b"}")).unwrap_or_default().to_vec()
    }
}

impl Contents {
    /// What a list says.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut contents = Self::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                contents.apply(&entry);
            }
        }
        contents
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        if entry.event == Event::Renewed {
            self.generation = entry.generation.unwrap_or_default();
            self.removals.clone_from(&entry.removed);
        }
        let Some(name) = &entry.segment else { return };
        let fate = self.segments.entry(name.clone()).or_default();
        match entry.event {
            Event::Opened => fate.opened.clone_from(&entry.at),
            Event::Closed | Event::Left => {
                fate.end.clone_from(&entry.end);
                fate.is_left = entry.event == Event::Left;
                fate.written.clone_from(entry.to.as_ref().unwrap_or(&entry.at));
            }
            Event::Removed => {
                fate.is_removed = true;
                Removal::of(name, entry).merge_into(&mut self.removals);
            }
            Event::Renewed => {}
        }
    }

    /// The entries of a list that says the same of every segment that is left.
    pub(super) fn renewed(&mut self, at: &str) -> Vec<Entry> {
        self.segments.retain(|_, fate| !fate.is_removed);
        self.generation += 1;
        let generation = Some(self.generation);
        let head = Entry::bare(at.to_owned(), Event::Renewed);
        let mut entries = vec![Entry { generation, removed: self.removals.clone(), ..head }];
        for (name, fate) in &self.segments {
            entries.push(Entry::new(fate.opened.clone(), Event::Opened, name));
            if fate.end.is_some() {
                let event = if fate.is_left { Event::Left } else { Event::Closed };
                let ended = Entry::new(fate.written.clone(), event, name);
                entries.push(Entry { end: fate.end.clone(), ..ended });
            }
        }
        entries
    }

    /// Whether a segment has an end that the list knows, or is gone.
    pub(super) fn has_ended(&self, name: &str) -> bool {
        self.segments.get(name).is_some_and(|fate| fate.end.is_some() || fate.is_removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_its_segment_as_on_the_disk() {
        let written = Entry::new("t".to_owned(), Event::Opened, "x.jsonl").members();
        let written = String::from_utf8(written).expect("text");
        assert_eq!(written, r#""at":"t","event":"opened","volume":"x.jsonl""#);
        for name in ["volume", "segment"] {
            let text = format!(r#"{{"at":"t","event":"opened","{name}":"x.jsonl"}}"#);
            let contents = Contents::read(text.as_bytes());
            assert_eq!(contents.segments.keys().collect::<Vec<_>>(), ["x.jsonl"], "{name}");
        }
    }
}
