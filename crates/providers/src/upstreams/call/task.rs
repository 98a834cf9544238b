//! Follows a call that its server made a task to its end, so that the client sees an ordinary
//! call.

use std::collections::HashSet;
use std::future::pending;
use std::time::Duration;

use futures_util::future::join_all;
use gantry_client::{Answer, Client, ClientError, InputRequired, Request};
use gantry_gateway::{CallContext, CallError, InputRequest, InputRequestError, Progress};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Method, RawJson, RpcError, code};
use rand::RngExt;

use super::request_handler::CallRequestHandler;
use crate::upstreams::upstream::Upstream;

/// How often a task is asked for, when its server does not say.
const INTERVAL: Duration = Duration::from_secs(1);

/// Never more often, and never less often, whatever the server says.
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(60);

/// No time that a server names is taken to be longer, in seconds.
const MOST: f64 = 365.0 * 24.0 * 3600.0;

/// An input request to a user who cannot be asked has an answer that says so.
const CANCEL: RawJson = RawJson::from_static(r#"{"action":"cancel"}"#);

/// Why a task has no result.
#[derive(Debug)]
pub(super) enum TaskError {
    /// The server, or the way to it, failed.
    Client(ClientError),
    /// The client could not be asked.
    Call(CallError),
}

impl From<ClientError> for TaskError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// A task in flight. When it is dropped before its end, the server is told that nobody waits.
pub(super) struct FollowedTask<'a> {
    server: &'a Upstream,
    client: Client,
    request: Request,
    id: RawJson,
    handler: &'a CallRequestHandler,
    over: bool,
}

/// Follows a task to its end.
pub(super) async fn follow(
    created: &RawJson,
    server: &Upstream,
    client: Client,
    request: Request,
    handler: &CallRequestHandler,
    context: &CallContext,
) -> Result<RawJson, TaskError> {
    let Some(id) = task(created).get("taskId").filter(|id| id.to_text().is_some()) else {
        let text = "the server made the call a task without a name".to_owned();
        return Err(ClientError::Malformed(text).into());
    };
    let mut followed = FollowedTask { server, client, request, id, handler, over: false };
    let result = followed.run(task(created), context).await;
    followed.over = !matches!(result, Err(TaskError::Call(_)));
    result
}

impl FollowedTask<'_> {
    async fn run(&self, mut task: RawJson, context: &CallContext) -> Result<RawJson, TaskError> {
        let (mut asked, mut looks) = (HashSet::new(), 0.0);
        loop {
            looks += 1.0;
            become_task(&task, context);
            report(&task, looks, context);
            let status = task.get("status").and_then(|status| status.to_text());
            match status.as_deref() {
                Some("completed" | "failed") => return self.result(&task).await,
                Some("cancelled") => return Err(cancelled().into()),
                Some("input_required") => match task.get("inputRequests") {
                    Some(requests) => self.answer(&requests, &mut asked).await?,
                    // A server of the legacy era asks while it is waited for.
                    None => return self.wait_for_result(task, context).await,
                },
                _ => {}
            }
            task = self.poll(&task, looks).await?;
        }
    }

    async fn poll(&self, task: &RawJson, looks: f64) -> Result<RawJson, TaskError> {
        let wait = wait(task);
        let wait = if runs_long(task) { wait } else { wait.min(SHORTEST.mul_f64(looks)) };
        tokio::time::sleep(wait).await;
        Ok(self::task(&self.ask("tasks/get", None).await?))
    }

    /// Waits for the result, and sees meanwhile whether the client need not wait any longer.
    async fn wait_for_result(
        &self,
        mut task: RawJson,
        context: &CallContext,
    ) -> Result<RawJson, TaskError> {
        let watch = async {
            let mut looks = 1.0;
            while !runs_long(&task) {
                match self.poll(&task, looks).await {
                    Ok(seen) => task = seen,
                    // The one who waits for the result hears of it too.
                    Err(_) => return pending().await,
                }
                looks += 1.0;
            }
            become_task(&task, context);
            pending().await
        };
        tokio::select! {
            result = self.ask("tasks/result", None) => result,
            never = watch => never,
        }
    }

    /// The result, which a server of the legacy era has to be asked for.
    async fn result(&self, task: &RawJson) -> Result<RawJson, TaskError> {
        if let Some(result) = task.get("result") {
            return Ok(result);
        }
        match task.get("error") {
            Some(error) => Err(ClientError::Answered(rpc_error(&error)).into()),
            None => self.ask("tasks/result", None).await,
        }
    }

    /// Asks the client what the task wants to know and has not asked before.
    async fn answer(
        &self,
        requests: &RawJson,
        asked: &mut HashSet<String>,
    ) -> Result<(), TaskError> {
        let mut input_requests = Vec::new();
        for member in requests.members() {
            let (key, entry) = (member.key().into_owned(), member.value());
            if asked.insert(key.clone()) {
                let method = entry.get("method").and_then(|it| it.to_text()).unwrap_or_default();
                let ask =
                    InputRequest { method: Method::parse(&method), params: entry.get("params") };
                input_requests.push((key, ask));
            }
        }
        if input_requests.is_empty() {
            return Ok(());
        }
        let asking = input_requests.into_iter().map(async |(key, ask)| {
            let can_cancel = ask.method == Method::Elicit;
            let answer = self.handler.request_input(Some(key.clone()), ask).await;
            let answer = match answer {
                Err(error) if can_cancel && error != InputRequestError::Gone => Ok(CANCEL),
                answer => answer,
            };
            (key, answer)
        });
        let mut answers = ObjectWriter::new();
        for (key, answer) in join_all(asking).await {
            let answer = answer.map_err(|error| TaskError::Call(error.into()))?;
            answers = answers.raw(&key, &answer);
        }
        self.ask("tasks/update", Some(answers.finish())).await.map(drop)
    }

    async fn ask(&self, method: &str, answers: Option<RawJson>) -> Result<RawJson, TaskError> {
        let request = self.request(method, answers);
        match self.client.request(&request, self.handler).await? {
            Answer::Complete(answer) => Ok(answer.into_raw()),
            Answer::Task(answer) => Ok(answer),
            Answer::InputRequired(_) => {
                let text = format!("the server asks for input in answer to {method}");
                Err(ClientError::Malformed(text).into())
            }
        }
    }

    fn request(&self, method: &str, answers: Option<RawJson>) -> Request {
        let params = ObjectWriter::new().raw("taskId", &self.id).finish();
        Request {
            input: InputRequired { entries: answers, state: None },
            capabilities: self.request.capabilities.clone(),
            client_info: self.request.client_info.clone(),
            wants_progress: method == "tasks/result" && self.request.wants_progress,
            ..Request::new(Method::parse(method), params)
        }
    }
}

impl Drop for FollowedTask<'_> {
    fn drop(&mut self) {
        if !self.over {
            let request = self.request("tasks/cancel", None);
            self.server.spawn_followup(self.client.clone(), request);
        }
    }
}

/// The task itself: one revision has it within the result, the other beside its type.
fn task(result: &RawJson) -> RawJson {
    result.get("task").filter(RawJson::is_object).unwrap_or_else(|| result.clone())
}

/// Whether the server has not said otherwise of the call that became a task.
fn runs_long(task: &RawJson) -> bool {
    task.at(&[key::META, key::RUNS_LONG]).is_none_or(|inputs| inputs.as_str() != "false")
}

/// A client that can come back for the result need not wait here either.
fn become_task(task: &RawJson, context: &CallContext) {
    let status = task.get("status").and_then(|status| status.to_text());
    if runs_long(task) && matches!(status.as_deref(), Some("working" | "input_required")) {
        let message = task.get("statusMessage").and_then(|message| message.to_text());
        context.become_task(message, Some(wait(task)), milliseconds(task, "ttlMs"));
    }
}

fn report(task: &RawJson, looks: f64, context: &CallContext) {
    if let Some(message) = task.get("statusMessage").and_then(|text| text.to_text()) {
        context.progress(&Progress { progress: looks, total: None, message: Some(message) });
    }
}

fn wait(task: &RawJson) -> Duration {
    let inputs =
        milliseconds(task, "pollIntervalMs").or_else(|| milliseconds(task, "pollInterval"));
    let wait = inputs.unwrap_or(INTERVAL).clamp(SHORTEST, LONGEST);
    wait.mul_f64(rand::rng().random_range(1.0..=1.1))
}

fn milliseconds(task: &RawJson, member: &str) -> Option<Duration> {
    let inputs = task.get(member)?.read::<f64>().filter(|value| *value >= 0.0)?;
    Some(Duration::from_secs_f64((inputs / 1000.0).min(MOST)))
}

fn cancelled() -> ClientError {
    let text = "the server cancelled the task that the call had become";
    ClientError::Answered(RpcError::new(code::INTERNAL_ERROR, text))
}

fn rpc_error(error: &RawJson) -> RpcError {
    let number = error.get("code").and_then(|code| code.read()).unwrap_or(code::INTERNAL_ERROR);
    let text = error.get("message").and_then(|text| text.to_text()).unwrap_or_default();
    RpcError { code: number, message: text, data: error.get("data") }
}
