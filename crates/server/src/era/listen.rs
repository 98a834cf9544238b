//! `subscriptions/listen`: a stream of changes that the client chose.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gantry_gateway::{Event, Interest, ListKind, Subscription};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::jsonrpc;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, RpcError};

use tokio::sync::broadcast;

use super::task_book::{TaskChange, next_change};
use super::ticket::Ticket;
use crate::lobby::{Lobby, next_event};
use crate::quota::WatchPermits;

/// One open listen stream.
#[derive(Debug)]
pub(crate) struct Listening {
    id: Id,
    honoured: RawJson,
    subscription: Subscription,
    watched: Vec<String>,
    tasks: Tasks,
    /// What its subscriptions are counted with.
    _watching: Option<WatchPermits>,
}

/// The tasks that a stream tells of.
#[derive(Debug)]
struct Tasks {
    ids: HashSet<String>,
    principal: Arc<str>,
    changes: broadcast::Receiver<TaskChange>,
    /// A change that was heard of and not yet told.
    heard: Option<TaskChange>,
}

impl Listening {
    /// Opens the stream that a request asks for.
    pub(super) fn open(lobby: &Lobby, ticket: &Ticket) -> Result<Self, RpcError> {
        let Some(filter) = ticket.params.get("notifications").filter(RawJson::is_object) else {
            return Err(RpcError::invalid_params("`notifications` must be an object"));
        };
        let wants = |member: &str| filter.get(member).is_some_and(|it| it.as_str() == "true");
        let interest = Interest {
            tools: wants("toolsListChanged"),
            prompts: wants("promptsListChanged"),
            resources: wants("resourcesListChanged"),
            resources_watched: Arc::default(),
        };
        let account = lobby.quota.account(&ticket.caller.principal);
        let (mut watched, mut watching) = (Vec::new(), None);
        let uris = filter.get("resourceSubscriptions").unwrap_or(RawJson::NULL);
        for uri in uris.elements() {
            let Some(uri) = uri.to_text() else {
                return Err(RpcError::invalid_params("`resourceSubscriptions` must hold strings"));
            };
            if lobby.gateway.has_resource(&uri, &ticket.caller).is_err() {
                continue;
            }
            let added = interest.resources_watched.add(&uri, lobby.settings.watched);
            if added.map_err(|error| RpcError::invalid_params(error.to_string()))? {
                WatchPermits::add(&mut watching, &account, &uri)?;
            }
            watched.push(uri);
        }
        let tasks = Tasks::open(lobby, ticket, &filter)?;
        let honoured = honoured(&interest, &watched, &tasks.ids);
        let subscription = lobby.gateway.subscribe(interest, &ticket.caller);
        let id = ticket.id.clone();
        Ok(Self { id, honoured, subscription, watched, tasks, _watching: watching })
    }

    /// The first message of the stream: what of the wish is granted, as soon as it is in force.
    pub(crate) async fn acknowledgement(&self, lobby: &Lobby) -> Bytes {
        join_all(self.watched.iter().map(|uri| lobby.gateway.watching(uri))).await;
        let params = ObjectWriter::new()
            .raw("notifications", &self.honoured)
            .raw(key::META, &self.tag())
            .finish();
        jsonrpc::notification(Method::SubscriptionsAcknowledged.as_str(), Some(&params))
    }

    /// The next message; none when the server stops.
    pub(crate) async fn next(&mut self, lobby: &Lobby) -> Option<Bytes> {
        let (method, params) = tokio::select! {
            event = next_event(lobby, &mut self.subscription) => notification(&event?),
            detail = self.tasks.next(lobby) => (Method::TaskChanged, Some(detail)),
        };
        let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
        let tagged = params.edit().set(key::META, self.tag()).apply();
        Some(jsonrpc::notification(method.as_str(), Some(&tagged)))
    }

    /// The answer to the request, which ends the stream in good order.
    pub(crate) fn end(&self, lobby: &Lobby) -> Bytes {
        let info = lobby.gateway.identity().info.clone();
        let meta = self.tag().edit().set(key::SERVER_INFO, info).apply();
        let result =
            ObjectWriter::new().value("resultType", "complete").raw(key::META, &meta).finish();
        jsonrpc::result(&self.id, &result).into_bytes()
    }

    fn tag(&self) -> RawJson {
        ObjectWriter::new().raw(key::SUBSCRIPTION_ID, self.id.raw()).finish()
    }
}

impl Tasks {
    /// Those of the tasks asked for that this client may see and that may still change.
    fn open(lobby: &Lobby, ticket: &Ticket, filter: &RawJson) -> Result<Self, RpcError> {
        let book = &lobby.task_book;
        let (principal, changes) = (ticket.caller.principal.clone(), book.subscribe());
        let mut tasks = Self { ids: HashSet::new(), principal, changes, heard: None };
        for id in filter.get("taskIds").unwrap_or(RawJson::NULL).elements() {
            let Some(id) = id.to_text() else {
                return Err(RpcError::invalid_params("`taskIds` must hold strings"));
            };
            if book.live_task(&tasks.principal, &id).is_some() {
                tasks.ids.insert(id);
            }
        }
        Ok(tasks)
    }

    /// The next of them that changed, as it is now. Safe to drop and call again.
    async fn next(&mut self, lobby: &Lobby) -> RawJson {
        loop {
            if let Some(change) = &self.heard {
                let found = lobby.task_book.changed(&self.principal, change).await;
                self.heard = None;
                if let Some(detail) = found {
                    return detail;
                }
            }
            let change = next_change(&mut self.changes).await;
            self.heard = Some(change).filter(|change| self.ids.contains(&change.id));
        }
    }
}

fn honoured(interest: &Interest, watched: &[String], tasks: &HashSet<String>) -> RawJson {
    let flag = |wanted: bool| wanted.then_some(true);
    ObjectWriter::new()
        .value_some("toolsListChanged", flag(interest.tools))
        .value_some("promptsListChanged", flag(interest.prompts))
        .value_some("resourcesListChanged", flag(interest.resources))
        .value_some("resourceSubscriptions", (!watched.is_empty()).then_some(watched))
        .value_some("taskIds", (!tasks.is_empty()).then_some(tasks))
        .finish()
}

/// The notification that tells of an event.
pub(super) fn notification(event: &Event) -> (Method, Option<RawJson>) {
    match event {
        Event::ListChanged(ListKind::Tools) => (Method::ToolsListChanged, None),
        Event::ListChanged(ListKind::Prompts) => (Method::PromptsListChanged, None),
        Event::ListChanged(_) => (Method::ResourcesListChanged, None),
        Event::ResourceUpdated { uri, metadata } => {
            let params = ObjectWriter::new()
                .value("uri", &**uri)
                .raw_some("metadata", metadata.as_ref())
                .finish();
            (Method::ResourceUpdated, Some(params))
        }
    }
}
