//! Calls the provider, again and again while it needs input: input requests that the client does not take over
//! are sent from here, and the provider is called again with the responses.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gantry_protocol::Method;
use tokio::time::sleep;

use crate::call::Input;
use crate::context::CallContext;
use crate::error::{CallError, ErrorKind};
use crate::input_request::{InputRequest, InputRequestError};
use crate::provider::{InputRequired, Outcome, Reply, Resolved};

/// Calls the provider. If it needs input and the client cannot take the input requests with the reply, they
/// are sent from here, and the provider is called again with the responses. One that replies with state and
/// no requests is called again after a backoff, within the deadline; that is no round of input.
pub(super) async fn call_provider(
    mut resolved: Resolved,
    context: &CallContext,
    max_rounds: usize,
) -> Outcome {
    let (mut rounds, mut backoff) = (0..max_rounds, Backoff::default());
    loop {
        let serving = async { resolved.provider.serve(&resolved, context).await };
        // A panic in a provider is that call's failure and nobody else's.
        let served = AssertUnwindSafe(serving).catch_unwind().await;
        let reply = served.unwrap_or_else(|panic| Err(panicked(&resolved, &*panic)))?;
        let required = match reply {
            Reply::InputRequired(required) => required,
            reply => return Ok(reply),
        };
        // A task has no reply left that could carry them.
        if resolved.call.takes_input_requests && !context.is_task() {
            // The client must not get requests that it did not declare to answer.
            let client = &resolved.call.caller.capabilities;
            input_requests(&required).try_for_each(|(_, ask)| ask.check(client))?;
            return Ok(Reply::InputRequired(required));
        }
        let asks = input_requests(&required).next().is_some();
        if asks && rounds.next().is_none() {
            let text = format!("the provider asked for input more than {max_rounds} times");
            return Err(CallError::new(ErrorKind::ToolFailed, text));
        }
        // On the heap, like all that few calls do: it would make every call larger.
        let input = match asks {
            true => Box::pin(answer(required, context)).await?,
            false => {
                Box::pin(backoff.wait()).await;
                Input { responses: None, state: required.state }
            }
        };
        Arc::make_mut(&mut resolved.call).input = input;
    }
}

/// The input requests by key.
fn input_requests(required: &InputRequired) -> impl Iterator<Item = (String, InputRequest)> {
    let requests = required.requests.iter().flat_map(|requests| requests.members());
    requests.map(|member| {
        let entry = member.value();
        let method = entry.get("method").and_then(|it| it.to_text()).unwrap_or_default();
        let ask = InputRequest { method: Method::parse(&method), params: entry.get("params") };
        (member.key().into_owned(), ask)
    })
}

/// Sends all input requests at once and collects the responses by key.
async fn answer(required: InputRequired, context: &CallContext) -> Result<Input, CallError> {
    let asked = input_requests(&required)
        .map(async |(key, ask)| Ok::<_, InputRequestError>((context.ask(&key, ask).await?, key)));
    let answers = futures_util::future::try_join_all(asked).await?;
    let mut object = gantry_protocol::json::ObjectWriter::new();
    for (answer, key) in &answers {
        object = object.raw(key, answer);
    }
    Ok(Input { responses: Some(object.finish()), state: required.state })
}

fn panicked(resolved: &Resolved, panic: &(dyn Any + Send)) -> CallError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let name = resolved.target.name();
    tracing::error!(name, panic = text, "a provider panicked");
    CallError::new(ErrorKind::ToolFailed, format!("`{name}` failed inside; its log says more"))
}

/// Before the second call.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);

/// Whoever waits for long work is not to hear of its end much later.
const MAX_BACKOFF: Duration = Duration::from_secs(3);

/// Pauses that double. There is no chance in them: calls that come at different times are sent away
/// and come back at different times.
#[derive(Debug)]
struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: INITIAL_BACKOFF }
    }
}

impl Backoff {
    /// Rests for longer than the last time.
    async fn wait(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(MAX_BACKOFF);
    }
}
