//! Logs, once for each server, how many of its tools are destructive or unannotated, what happens to their
//! calls, and how to trust the server.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use gantry_gateway::filter::PublishHook;
use gantry_gateway::{Effect, Origin, Snapshot, Target, ToolEntry};

use super::Trust;
use super::decide::{Outcome, decide};
use super::decisions::Level;

/// The marks of a server's tools, without those that somebody trusts and those that do not run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The tools of the server.
    pub tools: usize,
    /// Those that are marked as destructive.
    pub destructive: usize,
    /// Those that do not say whether they destroy anything.
    pub unannotated: usize,
    /// Of the destructive ones, those whose calls wait for a person. The others are refused.
    destructive_wait: bool,
    /// Whether calls of unannotated ones wait for a person. Otherwise they run.
    unannotated_wait: bool,
}

/// The servers that the log has told of.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<HashSet<(Arc<str>, Arc<str>)>>);

impl Marks {
    /// What to say of the server, if there is something.
    pub fn text(&self, server: &str) -> Option<String> {
        let Self { tools, destructive, unannotated, .. } = *self;
        let (waits, runs) = ("waits for approval", "runs without asking");
        let marked = |count: usize, what: &str, fate: &str| {
            (count > 0).then(|| format!("{count} {what} (each call {fate})"))
        };
        let fate = if self.destructive_wait { waits } else { "is refused" };
        let destructive = marked(destructive, "destructive", fate);
        let fate = if self.unannotated_wait { waits } else { runs };
        let unannotated = marked(unannotated, "without annotations", fate);
        let parts: Vec<String> = destructive.into_iter().chain(unannotated).collect();
        let noun = if tools == 1 { "tool" } else { "tools" };
        (!parts.is_empty()).then(|| {
            format!(
                "the server `{server}` has {tools} {noun}, {}; `gantry trust grant \
                 server:{server}` lets all of them run",
                parts.join(", ")
            )
        })
    }
}

impl Trust {
    /// The marks of each server's tools.
    pub fn marks(&self, snapshot: &Snapshot) -> BTreeMap<Arc<str>, Marks> {
        self.marks_of(snapshot, |_| true)
    }

    fn marks_of(
        &self,
        snapshot: &Snapshot,
        is_meant: impl Fn(&Origin) -> bool,
    ) -> BTreeMap<Arc<str>, Marks> {
        let mut all: BTreeMap<Arc<str>, Marks> = BTreeMap::new();
        for tool in snapshot.tools() {
            let Some(origin) = tool.origin.as_ref().filter(|it| is_meant(it)) else { continue };
            let marks = all.entry(origin.server.clone()).or_default();
            marks.tools += 1;
            let inputs = self.inputs(&Target::Tool(tool.clone()), false);
            if inputs.level() != Level::Verified {
                continue;
            }
            let waits = matches!(decide(&inputs), Outcome::NeedsApproval(_));
            match inputs.effect {
                Effect::Destroys => {
                    marks.destructive += 1;
                    marks.destructive_wait = waits;
                }
                Effect::Unannotated => {
                    marks.unannotated += 1;
                    marks.unannotated_wait = waits;
                }
                Effect::ReadOnly | Effect::Changes => {}
            }
        }
        all
    }
}

/// Tells of each server once, before its tools are listed.
impl PublishHook for Trust {
    fn publish_hook(&self, next: &mut Snapshot) {
        let mut told = self.0.told.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |origin: &Origin| (origin.server.clone(), origin.identity.clone());
        let origins = next.tools().filter_map(|tool| tool.origin.as_deref()).map(key);
        let new: HashSet<_> = origins.filter(|key| !told.contains(key)).collect();
        if new.is_empty() {
            return;
        }
        let marks = self.marks_of(next, |origin| new.contains(&key(origin)));
        for (server, identity) in new {
            if let Some(text) = marks.get(&server).and_then(|marks| marks.text(&server)) {
                tracing::info!("{text}");
                told.insert((server, identity));
            }
        }
    }

    fn publish_tools_hook(&self, next: &mut Snapshot, changed: &[Arc<ToolEntry>]) {
        // Registering a tool of our own must not cost a look at all others.
        if changed.iter().any(|tool| tool.origin.is_some()) {
            self.publish_hook(next);
        }
    }
}
