//! What a client with a handshake has agreed on, and what it may do with it.

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

use super::parsed::ParsedRequest;
use super::request_context::RequestContext;
use super::stateful::Wire;
use super::task_table::{self, SessionTasks, TaskChange, TaskTable, next_change};
use super::{errors, listen};
use crate::in_flight::InFlightRequests;
use crate::quota::WatchPermits;
use crate::server_state::{ServerState, next_event};

/// The answer to a question of ours, on its way to the call that asked.
pub(super) type Answer = oneshot::Sender<Result<RawJson, InputRequestError>>;

/// One client's session, on whatever transport.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    pub(crate) caller: Arc<Caller>,
    /// What its client was told that there is; it hears of nothing else.
    pub(super) offered: OptionalCapabilities,
    watched: Arc<Watched>,
    tasks: Arc<SessionTasks>,
    /// Calls under way.
    pub(crate) calls: Arc<InFlightRequests>,
    state: Mutex<State>,
    last_question: AtomicU64,
    /// Told when a question is put.
    asked: Notify,
    /// When its client first listed something.
    first_list: OnceLock<Instant>,
    /// Says that the session is over.
    pub(crate) ended: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    level: Option<Level>,
    /// What its subscriptions are counted with.
    watching: Option<WatchPermits>,
    /// Questions the client has not answered yet.
    input_requests: HashMap<u64, (Method, Answer)>,
}

/// What is to be done about a request.
pub(crate) enum Handled {
    /// It is answered.
    Answered(jsonrpc::Reply),
    /// It is to be run.
    Call(RequestContext, Box<Call>),
}

impl Session {
    /// A session as the handshake left it.
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
            last_question: AtomicU64::new(0),
            asked: Notify::new(),
            first_list: OnceLock::new(),
            ended,
        }
    }

    /// Serves what concerns the session itself, and lifts everything else.
    pub(crate) fn handle(&self, server_state: &ServerState, parsed: ParsedRequest) -> Handled {
        let ParsedRequest { id, method, params: given, head, meta, waited } = parsed;
        let answer = |result: Result<(), RpcError>| match result {
            Ok(()) => Handled::Answered(jsonrpc::result(&id, &RawJson::EMPTY_OBJECT)),
            Err(error) => Handled::Answered(jsonrpc::error(&id, &error)),
        };
        match method {
            Method::Ping => answer(Ok(())),
            Method::SetLevel => answer(self.set_level(&given)),
            Method::ResourcesSubscribe => match self.watch(server_state, &given) {
                Ok(true) => answer(Ok(())),
                Ok(false) => self.lift(
                    server_state,
                    ParsedRequest { id, method, params: given, head, meta, waited },
                    None,
                ),
                Err(error) => answer(Err(error)),
            },
            Method::ResourcesUnsubscribe => answer(self.unwatch(&given)),
            Method::Initialize => {
                answer(Err(RpcError::invalid_request("this session is already initialized")))
            }
            Method::TasksGet | Method::TasksResult | Method::TasksCancel | Method::TasksList
                if self.revision.has_tasks() =>
            {
                self.lift(
                    server_state,
                    ParsedRequest { id, method, params: given, head, meta, waited },
                    None,
                )
            }
            method if method.is_call() => {
                let wanted = self.revision.has_tasks() && method == Method::ToolsCall;
                let task = head.task.clone().filter(|_| wanted);
                let params = compat::lift_params(self.revision, &method, &given);
                // What was found before still holds unless lifting changed something.
                let unchanged = params.bytes().as_ptr() == given.bytes().as_ptr();
                let head = if unchanged { head } else { ParamsHead::read(&params) };
                self.lift(
                    server_state,
                    ParsedRequest { id, method, params, head, meta, waited },
                    task,
                )
            }
            unknown => answer(Err(RpcError::method_not_found(unknown.as_str()))),
        }
    }

    /// Takes a notification. Returns whether the client says that it is done.
    pub(crate) fn hear(&self, notification: &Notification) -> bool {
        self.calls.hear(notification);
        notification.method == Method::Closed
    }

    /// Takes the answer to a question of ours. One that nobody asked is passed over.
    pub(crate) fn take(&self, response: Response) {
        let Some(number) = response.id.as_ref().and_then(Id::as_number) else {
            return;
        };
        let Some((method, asker)) = self.state().input_requests.remove(&number) else {
            return;
        };
        let answer = match response.outcome {
            Ok(result) => Ok(compat::lift_answer(self.revision, &method, &result)),
            Err(error) => Err(InputRequestError::Refused { error }),
        };
        // The call may have stopped waiting.
        let _ = asker.send(answer);
    }

    /// The number for a question, under which its answer will be found.
    pub(super) fn ask(&self, method: Method, answer: Answer) -> u64 {
        let number = self.last_question.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().input_requests.insert(number, (method, answer));
        self.asked.notify_waiters();
        number
    }

    /// Waits until the client has a question to answer.
    pub(crate) async fn asking(&self) {
        let mut asked = pin!(self.asked.notified());
        // Listened for before looking, so that no question between the two is missed.
        asked.as_mut().enable();
        if self.state().input_requests.is_empty() {
            asked.await;
        }
    }

    /// Gives up questions that their call no longer needs.
    pub(super) fn forget(&self, numbers: &[u64]) -> Vec<u64> {
        let mut state = self.state();
        numbers.iter().copied().filter(|it| state.input_requests.remove(it).is_some()).collect()
    }

    /// Starts a call of this session.
    pub(crate) fn start(
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
        task_table::start(server_state, &self.tasks, request_context, call)
    }

    /// What this session should hear of, from now on.
    pub(crate) fn changes(&self, server_state: &ServerState) -> Subscription {
        let interest = Interest {
            tools: true,
            prompts: self.offered.prompts,
            resources: self.offered.resources,
            resources_watched: self.watched.clone(),
        };
        server_state.gateway.subscribe(interest, &self.caller)
    }

    /// Whether a call or a task of it runs.
    pub(super) fn is_running(&self, tasks: &TaskTable) -> bool {
        !self.calls.is_empty()
            || !self.state().input_requests.is_empty()
            || self.tasks.is_running(tasks)
    }

    fn lift(
        &self,
        server_state: &ServerState,
        parsed: ParsedRequest,
        task: Option<RawJson>,
    ) -> Handled {
        let ParsedRequest { id, method, params, head, meta, .. } = parsed;
        let (token, caller) = (meta.progress_token, self.caller.clone());
        let mut call = Call::with_head(method.clone(), params.clone(), head, caller.clone());
        call.wants_progress = token.is_some();
        call.trace = meta.trace.map(Arc::new);
        if is_list(&method) {
            call.listing_since = Some(*self.first_list.get_or_init(Instant::now));
        }
        // A client that never set a level still wants to see what matters.
        call.log_level = Some(self.state().level.unwrap_or(Level::Info));
        let json_content = server_state.settings.json_content || caller.capabilities.json_content;
        let request_context =
            RequestContext { id, method, params, token, caller, json_content, task };
        Handled::Call(request_context, Box::new(call))
    }

    /// The change of a task as this session hears of it, if it does.
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

    /// Watches a resource. Returns whether its changes are heard of already.
    fn watch(&self, server_state: &ServerState, params: &RawJson) -> Result<bool, RpcError> {
        let uri = uri(params)?;
        let known = server_state.gateway.has_resource(&uri, &self.caller);
        known.map_err(|error| errors::to_rpc(self.revision, error))?;
        // Counted first, so that who removes it at the same time never finds it uncounted.
        let account = server_state.quota.account(&self.caller.principal);
        WatchPermits::add(&mut self.state().watching, &account, &uri)?;
        let added = self.watched.add(&uri, server_state.settings.watched);
        if added != Ok(true) {
            self.uncount(&uri);
        }
        added.map_err(|error| RpcError::invalid_params(error.to_string()))?;
        Ok(server_state.gateway.watching(&uri).now_or_never().is_some())
    }

    fn unwatch(&self, params: &RawJson) -> Result<(), RpcError> {
        let uri = uri(params)?;
        if self.watched.remove(&uri) {
            self.uncount(&uri);
        }
        Ok(())
    }

    fn uncount(&self, uri: &str) {
        if let Some(watching) = &mut self.state().watching {
            watching.remove(uri);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends every change that this session should hear of, until the session ends, the server stops
/// or nobody listens any more.
pub(crate) async fn listen_for(
    server_state: &ServerState,
    session: &Session,
    mut changes: Subscription,
    wire: &Wire,
) {
    let mut tasks = server_state.task_table.subscribe();
    loop {
        let (method, params) = tokio::select! {
            () = session.ended.cancelled() => return,
            event = next_event(server_state, &mut changes) => match event {
                Some(event) => listen::notification(&event),
                None => return,
            },
            change = next_change(&mut tasks) => match session.task_status(server_state, &change).await {
                Some(params) => (Method::TaskStatus, Some(params)),
                None => continue,
            },
        };
        let params = params.map(|it| compat::lower_notification(session.revision, &method, &it));
        if !wire.send(jsonrpc::notification(method.as_str(), params.as_ref())).await {
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
