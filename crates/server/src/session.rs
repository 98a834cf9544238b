//! Sessions of legacy clients, which begin with `initialize`: what was negotiated, and the requests
//! that concern the session itself. `http_session` adds what a session over HTTP has beside it.
//!
//! What was negotiated is sealed into the session id (`session_id`), so that a session goes on after
//! a restart. Memory holds only what happens in it: log level, subscriptions, open requests, streams.

pub(crate) mod batch;
pub(crate) mod http_session;
pub(crate) mod replay_log;
pub(crate) mod run_call;
pub(crate) mod session_id;
pub(crate) mod session_table;

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foldhash::HashMap;
use futures_util::FutureExt;
use gantry_gateway::{
    Call, CallStream, Caller, InputRequestError, Interest, OptionalCapabilities, Reply,
    Subscription, Watched,
};
use gantry_protocol::{
    Id, Level, Method, Notification, ParamsHead, RawJson, Response, Revision, RpcError, compat,
    jsonrpc,
};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error_codes;
use crate::in_flight::InFlightRequests;
use crate::message_sink::MessageSink;
use crate::quota::SubscriptionPermits;
use crate::request::{ParsedRequest, RequestContext};
use crate::server_state::{ServerState, next_event};
use crate::stateless::listen_stream::change_notification;
use crate::tasks::task_requests::{self, SessionTasks};
use crate::tasks::{TaskChange, TaskTable, next_change};

/// Gives the client's response to the call that sent the request.
type ResponseSender = oneshot::Sender<Result<RawJson, InputRequestError>>;

/// One client's session, on whatever transport.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    pub(crate) caller: Arc<Caller>,
    /// The capabilities that were declared to the client; it is sent nothing else.
    pub(crate) offered: OptionalCapabilities,
    watched: Arc<Watched>,
    tasks: Arc<SessionTasks>,
    /// Requests in flight.
    pub(crate) calls: Arc<InFlightRequests>,
    state: Mutex<State>,
    last_request_id: AtomicU64,
    /// Notified when a request to the client is registered.
    request_registered: Notify,
    /// When its client sent its first list request.
    first_list: OnceLock<Instant>,
    /// Cancelled when the session ends.
    pub(crate) ended: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    level: Option<Level>,
    /// The quota of its subscriptions.
    subscription_permits: Option<SubscriptionPermits>,
    /// Requests to the client without a response, by id.
    input_requests: HashMap<u64, (Method, ResponseSender)>,
}

/// What a request became.
pub(crate) enum Dispatched {
    /// The session itself has replied.
    Replied(jsonrpc::Reply),
    /// A call to start.
    Call(RequestContext, Box<Call>),
}

impl Session {
    /// A session as `initialize` negotiated it.
    pub(crate) fn new(revision: Revision, caller: Caller, offered: OptionalCapabilities) -> Self {
        let ended = CancellationToken::new();
        Self {
            revision,
            caller: Arc::new(caller),
            offered,
            calls: InFlightRequests::new(ended.clone()),
            watched: Arc::default(),
            tasks: Arc::default(),
            state: Mutex::default(),
            last_request_id: AtomicU64::new(0),
            request_registered: Notify::new(),
            first_list: OnceLock::new(),
            ended,
        }
    }

    /// Replies to what concerns the session itself, and lifts everything else to a call.
    pub(crate) fn dispatch(&self, server_state: &ServerState, parsed: ParsedRequest) -> Dispatched {
        let ParsedRequest { id, method, params: given, head, meta, waited } = parsed;
        let reply = |result: Result<(), RpcError>| match result {
            Ok(()) => Dispatched::Replied(jsonrpc::result(&id, &RawJson::EMPTY_OBJECT)),
            Err(error) => Dispatched::Replied(jsonrpc::error(&id, &error)),
        };
        match method {
            Method::Ping => reply(Ok(())),
            Method::SetLevel => reply(self.set_level(&given)),
            Method::ResourcesSubscribe => match self.subscribe_resource(server_state, &given) {
                Ok(true) => reply(Ok(())),
                Ok(false) => self.to_call(
                    server_state,
                    ParsedRequest { id, method, params: given, head, meta, waited },
                    None,
                ),
                Err(error) => reply(Err(error)),
            },
            Method::ResourcesUnsubscribe => reply(self.unsubscribe_resource(&given)),
            Method::Initialize => {
                reply(Err(RpcError::invalid_request("this session is already initialized")))
            }
            Method::TasksGet | Method::TasksResult | Method::TasksCancel | Method::TasksList
                if self.revision.has_tasks() =>
            {
                self.to_call(
                    server_state,
                    ParsedRequest { id, method, params: given, head, meta, waited },
                    None,
                )
            }
            method if method.is_call() => {
                let wanted = self.revision.has_tasks() && method == Method::ToolsCall;
                let task = head.task.clone().filter(|_| wanted);
                let params = compat::lift_params(self.revision, &method, &given);
                // The members that were found before are still valid unless lifting changed params.
                let unchanged = params.bytes().as_ptr() == given.bytes().as_ptr();
                let head = if unchanged { head } else { ParamsHead::read(&params) };
                self.to_call(
                    server_state,
                    ParsedRequest { id, method, params, head, meta, waited },
                    task,
                )
            }
            unknown => reply(Err(RpcError::method_not_found(unknown.as_str()))),
        }
    }

    /// Handles a notification. Returns whether the client closes the session.
    pub(crate) fn handle_notification(&self, notification: &Notification) -> bool {
        self.calls.handle_notification(notification);
        notification.method == Method::Closed
    }

    /// Gives a response of the client to the call that waits for it. Any other is ignored.
    pub(crate) fn handle_response(&self, response: Response) {
        let Some(number) = response.id.as_ref().and_then(Id::as_number) else {
            return;
        };
        let Some((method, sender)) = self.state().input_requests.remove(&number) else {
            return;
        };
        let result = match response.outcome {
            Ok(result) => Ok(compat::lift_answer(self.revision, &method, &result)),
            Err(error) => Err(InputRequestError::Refused { error }),
        };
        // The call may have stopped waiting.
        let _ = sender.send(result);
    }

    /// Registers a request to the client. Returns its id.
    pub(crate) fn register_input_request(&self, method: Method, sender: ResponseSender) -> u64 {
        let number = self.last_request_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().input_requests.insert(number, (method, sender));
        self.request_registered.notify_waiters();
        number
    }

    /// Waits until there is a request to the client without a response.
    pub(crate) async fn has_open_request(&self) {
        let mut registered = pin!(self.request_registered.notified());
        // Enabled before looking, so that no request between the two is missed.
        registered.as_mut().enable();
        if self.state().input_requests.is_empty() {
            registered.await;
        }
    }

    /// Removes requests that their call no longer waits for. Returns those that were open.
    pub(crate) fn withdraw(&self, numbers: &[u64]) -> Vec<u64> {
        let mut state = self.state();
        numbers.iter().copied().filter(|it| state.input_requests.remove(it).is_some()).collect()
    }

    /// Starts a call of this session.
    pub(crate) fn start_call(
        &self,
        server_state: &Arc<ServerState>,
        request_context: &RequestContext,
        call: Call,
    ) -> CallStream {
        if call.method == Method::ResourcesSubscribe {
            let (server_state, params) = (server_state.clone(), call.params.clone());
            return server_state.clone().gateway.start_local(&call, |_| async move {
                if let Ok(uri) = uri(&params) {
                    server_state.gateway.watching(&uri).await;
                }
                Ok(Reply::result(RawJson::EMPTY_OBJECT))
            });
        }
        task_requests::start_session_call(server_state, &self.tasks, request_context, call)
    }

    /// Subscribes to the changes that this session's client is sent.
    pub(crate) fn subscribe(&self, server_state: &ServerState) -> Subscription {
        let interest = Interest {
            tools: true,
            prompts: self.offered.prompts,
            resources: self.offered.resources,
            resources_watched: self.watched.clone(),
        };
        server_state.gateway.subscribe(interest, &self.caller)
    }

    /// Whether a call or a task of it runs, or a request to its client is open.
    pub(crate) fn is_running(&self, tasks: &TaskTable) -> bool {
        !self.calls.is_empty()
            || !self.state().input_requests.is_empty()
            || self.tasks.is_running(tasks)
    }

    fn to_call(
        &self,
        server_state: &ServerState,
        parsed: ParsedRequest,
        task: Option<RawJson>,
    ) -> Dispatched {
        let ParsedRequest { id, method, params, head, meta, .. } = parsed;
        let (token, caller) = (meta.progress_token, self.caller.clone());
        let mut call = Call::with_head(method.clone(), params.clone(), head, caller.clone());
        call.wants_progress = token.is_some();
        call.trace = meta.trace.map(Arc::new);
        if is_list(&method) {
            call.listing_since = Some(*self.first_list.get_or_init(Instant::now));
        }
        // The default for a client that never set a level.
        call.log_level = Some(self.state().level.unwrap_or(Level::Info));
        let json_content = server_state.settings.json_content || caller.capabilities.json_content;
        let request_context =
            RequestContext { id, method, params, token, caller, json_content, task };
        Dispatched::Call(request_context, Box::new(call))
    }

    /// The params of `notifications/tasks/status` for a change of one of this session's tasks.
    async fn task_status(
        &self,
        server_state: &ServerState,
        change: &TaskChange,
    ) -> Option<RawJson> {
        match self.tasks.contains(&change.id) {
            true => {
                let detail =
                    server_state.task_table.changed(&self.caller.principal, change).await?;
                Some(compat::lower_task(&detail))
            }
            false => None,
        }
    }

    fn set_level(&self, params: &RawJson) -> Result<(), RpcError> {
        let level = params.get("level").unwrap_or(RawJson::NULL);
        let Some(read) = level.read() else {
            return Err(RpcError::invalid_params(format!(
                "{level} is not a log level; debug, info, notice, warning, error, critical, \
                 alert and emergency are"
            )));
        };
        self.state().level = Some(read);
        Ok(())
    }

    /// Subscribes to a resource. Returns whether the subscription is in force at its provider already.
    fn subscribe_resource(
        &self,
        server_state: &ServerState,
        params: &RawJson,
    ) -> Result<bool, RpcError> {
        let uri = uri(params)?;
        let known = server_state.gateway.has_resource(&uri, &self.caller);
        known.map_err(|error| error_codes::to_rpc(self.revision, error))?;
        // Counted before it is added, so that an unsubscribe at the same time finds it counted.
        let account = server_state.quota.account(&self.caller.principal);
        SubscriptionPermits::add(&mut self.state().subscription_permits, &account, &uri)?;
        let added = self.watched.add(&uri, server_state.settings.watched);
        if added != Ok(true) {
            self.uncount(&uri);
        }
        added.map_err(|error| RpcError::invalid_params(error.to_string()))?;
        Ok(server_state.gateway.watching(&uri).now_or_never().is_some())
    }

    fn unsubscribe_resource(&self, params: &RawJson) -> Result<(), RpcError> {
        let uri = uri(params)?;
        if self.watched.remove(&uri) {
            self.uncount(&uri);
        }
        Ok(())
    }

    fn uncount(&self, uri: &str) {
        if let Some(permits) = &mut self.state().subscription_permits {
            permits.remove(uri);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends every change to the client, until the session ends, the server stops or the client is gone.
pub(crate) async fn forward_changes(
    server_state: &ServerState,
    session: &Session,
    mut changes: Subscription,
    sink: &MessageSink,
) {
    let mut tasks = server_state.task_table.subscribe();
    loop {
        let (method, params) = tokio::select! {
            () = session.ended.cancelled() => return,
            event = next_event(server_state, &mut changes) => match event {
                Some(event) => change_notification(&event),
                None => return,
            },
            change = next_change(&mut tasks) => match session.task_status(server_state, &change).await {
                Some(params) => (Method::TaskStatus, Some(params)),
                None => continue,
            },
        };
        let params = params.map(|it| compat::lower_notification(session.revision, &method, &it));
        if !sink.send(jsonrpc::notification(method.as_str(), params.as_ref())).await {
            return;
        }
    }
}

fn is_list(method: &Method) -> bool {
    matches!(
        method,
        Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourceTemplatesList
    )
}

fn uri(params: &RawJson) -> Result<String, RpcError> {
    let uri = params.get("uri").and_then(|uri| uri.to_text());
    uri.ok_or_else(|| RpcError::invalid_params("`uri` must be a string"))
}
