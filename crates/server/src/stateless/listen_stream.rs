//! `subscriptions/listen`: a stream of the changes that a modern client subscribed to.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gantry_gateway::{Event, Interest, ListKind, Subscription};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, RpcError, jsonrpc};
use tokio::sync::broadcast;

use crate::quota::SubscriptionPermits;
use crate::request::RequestContext;
use crate::server_state::{ServerState, next_event};
use crate::tasks::{TaskChange, next_change};

/// One open listen stream.
#[derive(Debug)]
pub(crate) struct ListenStream {
    id: Id,
    granted: RawJson,
    subscription: Subscription,
    resources: Vec<String>,
    tasks: WatchedTasks,
    /// The quota of its subscriptions.
    _permits: Option<SubscriptionPermits>,
}

/// The tasks whose changes a stream sends.
#[derive(Debug)]
struct WatchedTasks {
    ids: HashSet<String>,
    principal: Arc<str>,
    changes: broadcast::Receiver<TaskChange>,
    /// A change that was received and not sent yet.
    received: Option<TaskChange>,
}

impl ListenStream {
    /// Opens the stream of a request.
    pub(super) fn open(
        server_state: &ServerState,
        request_context: &RequestContext,
    ) -> Result<Self, RpcError> {
        let Some(filter) = request_context.params.get("notifications").filter(RawJson::is_object)
        else {
            return Err(RpcError::invalid_params("`notifications` must be an object"));
        };
        let wants = |member: &str| filter.get(member).is_some_and(|it| it.as_str() == "true");
        let interest = Interest {
            tools: wants("toolsListChanged"),
            prompts: wants("promptsListChanged"),
            resources: wants("resourcesListChanged"),
            resources_watched: Arc::default(),
        };
        let account = server_state.quota.account(&request_context.caller.principal);
        let (mut resources, mut permits) = (Vec::new(), None);
        let uris = filter.get("resourceSubscriptions").unwrap_or(RawJson::NULL);
        for uri in uris.elements() {
            let Some(uri) = uri.to_text() else {
                return Err(RpcError::invalid_params("`resourceSubscriptions` must hold strings"));
            };
            if server_state.gateway.has_resource(&uri, &request_context.caller).is_err() {
                continue;
            }
            let added = interest.resources_watched.add(&uri, server_state.settings.watched);
            if added.map_err(|error| RpcError::invalid_params(error.to_string()))? {
                SubscriptionPermits::add(&mut permits, &account, &uri)?;
            }
            resources.push(uri);
        }
        let tasks = WatchedTasks::open(server_state, request_context, &filter)?;
        let granted = granted(&interest, &resources, &tasks.ids);
        let subscription = server_state.gateway.subscribe(interest, &request_context.caller);
        let id = request_context.id.clone();
        Ok(Self { id, granted, subscription, resources, tasks, _permits: permits })
    }

    /// The first message of the stream: the granted subscriptions, as soon as they are in force.
    pub(crate) async fn acknowledgement(&self, server_state: &ServerState) -> Bytes {
        join_all(self.resources.iter().map(|uri| server_state.gateway.watching(uri))).await;
        let params = ObjectWriter::new()
            .raw("notifications", &self.granted)
            .raw(key::META, &self.tag())
            .finish();
        jsonrpc::notification(Method::SubscriptionsAcknowledged.as_str(), Some(&params))
    }

    /// The next message; none when the server stops.
    pub(crate) async fn next(&mut self, server_state: &ServerState) -> Option<Bytes> {
        let (method, params) = tokio::select! {
            event = next_event(server_state, &mut self.subscription) => change_notification(&event?),
            detail = self.tasks.next(server_state) => (Method::TaskChanged, Some(detail)),
        };
        let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
        let tagged = params.edit().set(key::META, self.tag()).apply();
        Some(jsonrpc::notification(method.as_str(), Some(&tagged)))
    }

    /// The response to the request, which ends the stream.
    pub(crate) fn end(&self, server_state: &ServerState) -> Bytes {
        let info = server_state.gateway.identity().info.clone();
        let meta = self.tag().edit().set(key::SERVER_INFO, info).apply();
        let result =
            ObjectWriter::new().value("resultType", "complete").raw(key::META, &meta).finish();
        jsonrpc::result(&self.id, &result).into_bytes()
    }

    fn tag(&self) -> RawJson {
        ObjectWriter::new().raw(key::SUBSCRIPTION_ID, self.id.raw()).finish()
    }
}

impl WatchedTasks {
    /// Those of the requested tasks that belong to this client and may still change.
    fn open(
        server_state: &ServerState,
        request_context: &RequestContext,
        filter: &RawJson,
    ) -> Result<Self, RpcError> {
        let table = &server_state.task_table;
        let (principal, changes) = (request_context.caller.principal.clone(), table.subscribe());
        let mut tasks = Self { ids: HashSet::new(), principal, changes, received: None };
        for id in filter.get("taskIds").unwrap_or(RawJson::NULL).elements() {
            let Some(id) = id.to_text() else {
                return Err(RpcError::invalid_params("`taskIds` must hold strings"));
            };
            if table.running_task(&tasks.principal, &id).is_some() {
                tasks.ids.insert(id);
            }
        }
        Ok(tasks)
    }

    /// The next of them that changed, as it is now. Cancel safe.
    async fn next(&mut self, server_state: &ServerState) -> RawJson {
        loop {
            if let Some(change) = &self.received {
                let found = server_state.task_table.changed(&self.principal, change).await;
                self.received = None;
                if let Some(detail) = found {
                    return detail;
                }
            }
            let change = next_change(&mut self.changes).await;
            self.received = Some(change).filter(|change| self.ids.contains(&change.id));
        }
    }
}

fn granted(interest: &Interest, resources: &[String], tasks: &HashSet<String>) -> RawJson {
    let flag = |wanted: bool| wanted.then_some(true);
    ObjectWriter::new()
        .value_some("toolsListChanged", flag(interest.tools))
        .value_some("promptsListChanged", flag(interest.prompts))
        .value_some("resourcesListChanged", flag(interest.resources))
        .value_some("resourceSubscriptions", (!resources.is_empty()).then_some(resources))
        .value_some("taskIds", (!tasks.is_empty()).then_some(tasks))
        .finish()
}

/// The notification of a change.
pub(crate) fn change_notification(event: &Event) -> (Method, Option<RawJson>) {
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
