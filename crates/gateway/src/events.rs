//! Change events: notifications about lists and resources. Changes are coalesced for a short time; version counters
//! need no queue, so a slow subscriber loses events but not its subscription.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use gantry_protocol::RawJson;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::caller::Caller;
use crate::catalog::ListKind;
use crate::subscriptions::{Subscriber, WatchHandle, Watched};

/// Something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The tools, the prompts, or the resources and templates.
    ListChanged(ListKind),
    /// The content of a resource.
    ResourceUpdated {
        /// Which.
        uri: Arc<str>,
        /// What its provider adds to the notification.
        metadata: Option<RawJson>,
    },
}

/// What a subscriber wants to hear of.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the lists of resources and templates.
    pub resources: bool,
    /// Changes of these resources.
    pub resources_watched: Arc<Watched>,
}

/// How often each list has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Versions {
    tools: u64,
    prompts: u64,
    resources: u64,
}

#[derive(Debug, Clone)]
struct Update {
    uri: Arc<str>,
    metadata: Option<RawJson>,
    /// Who is to hear of it; everyone if none are given.
    recipients: Option<Recipients>,
}

/// Those whose resource it is, where callers of one provider have each their own.
#[derive(Clone)]
pub struct Recipients(Arc<dyn Fn(&Caller) -> bool + Send + Sync>);

impl Recipients {
    /// Those callers for whom this is true.
    pub fn new(are: impl Fn(&Caller) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(are))
    }
}

impl std::fmt::Debug for Recipients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Hearers")
    }
}

/// The source of events.
#[derive(Debug)]
pub(crate) struct Events {
    versions: watch::Sender<Versions>,
    updates: broadcast::Sender<Update>,
    settle: Duration,
}

/// Updates a slow subscriber may fall behind before it is told to look at everything again.
const UPDATES_KEPT: usize = 1024;

impl Events {
    pub(crate) fn new(settle: Duration) -> Self {
        let updates = broadcast::channel(UPDATES_KEPT).0;
        Self { versions: watch::Sender::default(), updates, settle }
    }

    pub(crate) fn list_changed(&self, kind: ListKind) {
        self.versions.send_modify(|versions| match kind {
            ListKind::Tools => versions.tools += 1,
            ListKind::Prompts => versions.prompts += 1,
            ListKind::Resources | ListKind::Templates => versions.resources += 1,
        });
    }

    pub(crate) fn resource_updated(
        &self,
        uri: Arc<str>,
        metadata: Option<RawJson>,
        recipients: Option<Recipients>,
    ) {
        // No receiver means that nobody is interested.
        let _ = self.updates.send(Update { uri, metadata, recipients });
    }

    pub(crate) fn subscribe(&self, interest: Interest) -> Subscription {
        let mut versions = self.versions.subscribe();
        let seen = *versions.borrow_and_update();
        Subscription {
            seen,
            versions,
            updates: self.updates.subscribe(),
            settle: self.settle,
            interest,
            overdue: BTreeSet::new(),
            subscriber: None,
            _watch_handle: None,
        }
    }
}

/// All event hubs: those of a gateway and of its virtual servers.
#[derive(Debug, Default)]
pub(crate) struct Subscribers(Mutex<Vec<Weak<Events>>>);

impl Subscribers {
    /// These subscribers hear from now on, for as long as there can be any.
    pub(crate) fn register(&self, events: &Arc<Events>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|events| events.strong_count() > 0);
        all.push(Arc::downgrade(events));
    }

    /// Tells everyone that every list may have changed.
    pub(crate) fn notify(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for events in all.iter().filter_map(Weak::upgrade) {
            ListKind::ALL.into_iter().for_each(|kind| events.list_changed(kind));
        }
    }
}

/// One subscriber's view. Changes of a list that come close together are told once.
#[derive(Debug)]
pub struct Subscription {
    interest: Interest,
    versions: watch::Receiver<Versions>,
    updates: broadcast::Receiver<Update>,
    seen: Versions,
    settle: Duration,
    /// Resources to tell of because updates were missed.
    overdue: BTreeSet<Arc<str>>,
    /// Who hears all this.
    subscriber: Option<Subscriber>,
    /// What it watches counts as watched for as long as it runs.
    _watch_handle: Option<WatchHandle>,
}

impl Subscription {
    /// The same for someone who keeps a seat for as long as it runs.
    pub(crate) fn with_watch(self, watch_handle: WatchHandle, subscriber: Subscriber) -> Self {
        Self { _watch_handle: Some(watch_handle), subscriber: Some(subscriber), ..self }
    }

    /// Waits for the next event; none when the gateway is gone. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending() {
                return Some(event);
            }
            tokio::select! {
                changed = self.versions.changed() => {
                    changed.ok()?;
                    // More changes often follow at once: coalesce them into one notification.
                    tokio::time::sleep(self.settle).await;
                    self.versions.mark_unchanged();
                }
                update = self.updates.recv() => match update {
                    Ok(update) if self.is_meant(&update) && self.hears_of(&update.uri) => {
                        let Update { uri, metadata, .. } = update;
                        return Some(Event::ResourceUpdated { uri, metadata });
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => {
                        self.overdue.extend(self.interest.resources_watched.all());
                    }
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn pending(&mut self) -> Option<Event> {
        let current = *self.versions.borrow();
        let wants = [
            (ListKind::Tools, self.interest.tools, current.tools, &mut self.seen.tools),
            (ListKind::Prompts, self.interest.prompts, current.prompts, &mut self.seen.prompts),
            (
                ListKind::Resources,
                self.interest.resources,
                current.resources,
                &mut self.seen.resources,
            ),
        ];
        for (kind, wanted, current, seen) in wants {
            if std::mem::replace(seen, current) != current && wanted {
                return Some(Event::ListChanged(kind));
            }
        }
        while let Some(uri) = self.overdue.pop_first() {
            // Some may no longer be watched.
            if self.hears_of(&uri) {
                return Some(Event::ResourceUpdated { uri, metadata: None });
            }
        }
        None
    }

    /// Whether it is among those who are to hear of an update.
    fn is_meant(&self, update: &Update) -> bool {
        let Some(Recipients(are)) = &update.recipients else { return true };
        self.subscriber.as_ref().is_some_and(|subscriber| are(&subscriber.caller))
    }

    /// Whether it watches a resource, and may.
    fn hears_of(&self, uri: &str) -> bool {
        self.interest.resources_watched.covers(uri)
            && self.subscriber.as_ref().is_none_or(|subscriber| subscriber.may_receive(uri))
    }
}

#[cfg(test)]
mod tests;
