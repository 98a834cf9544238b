//! Validates arguments before a tool runs and its result after. Validation that takes long runs on blocking threads of
//! a bounded number, so that it delays nobody else: a validator cannot be interrupted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gantry_protocol::RawJson;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::contract::states_no_data;
use crate::entry::ToolEntry;
use crate::error::{CallError, ErrorKind};
use crate::provider::{Reply, Resolved, Target};
use crate::schema::{Schema, Subject};

const STRUCTURED: &str = "structuredContent";

/// When a caller may come back that found no place.
const RETRY: Duration = Duration::from_secs(1);

/// The threads for checks that take long.
#[derive(Debug)]
pub(crate) struct CheckThreads {
    threads: Arc<Semaphore>,
    /// Checks that run or wait for a thread.
    places: Arc<Semaphore>,
    limit: usize,
    /// How many of them one principal may have.
    share: usize,
    by_principal: Arc<Mutex<HashMap<Arc<str>, usize>>>,
}

/// The place of a principal, given back when it is dropped.
struct Share {
    by_principal: Arc<Mutex<HashMap<Arc<str>, usize>>>,
    principal: Arc<str>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut all = self.by_principal.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = all.get_mut(&self.principal) {
            *held -= 1;
            if *held == 0 {
                all.remove(&self.principal);
            }
        }
    }
}

impl CheckThreads {
    /// So many threads, and so many checks that may wait for one.
    pub(crate) fn new(threads: usize, queue: usize) -> Self {
        let threads = threads.clamp(1, Semaphore::MAX_PERMITS / 2);
        let limit = threads.saturating_add(queue).min(Semaphore::MAX_PERMITS);
        let [threads, places] = [threads, limit].map(|it| Arc::new(Semaphore::new(it)));
        // A quarter: one caller must not fill the queue for everybody.
        let share = (limit / 4).max(threads.available_permits() + 1);
        Self { threads, places, limit, share, by_principal: Arc::default() }
    }

    fn share(&self, principal: &Arc<str>) -> Option<Share> {
        let mut all = self.by_principal.lock().unwrap_or_else(PoisonError::into_inner);
        let held = all.entry(principal.clone()).or_default();
        if *held >= self.share {
            return None;
        }
        *held += 1;
        let (by_principal, principal) = (self.by_principal.clone(), principal.clone());
        Some(Share { by_principal, principal })
    }

    async fn run<T: Send + 'static>(
        &self,
        principal: &Arc<str>,
        name: &str,
        check: impl FnOnce() -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let place = self.share(principal).ok_or(self.share).and_then(|share| {
            let place = self.places.clone().try_acquire_owned();
            place.map(|place| (share, place)).map_err(|_| self.limit)
        });
        let place = place.map_err(|limit| {
            let text = format!(
                "`{name}` is not checked against its schema: {limit} large values are being \
                 checked or wait for it; try again"
            );
            let kind = ErrorKind::LimitExceeded { retry_after: Some(RETRY) };
            CallError::new(kind, text)
        })?;
        let thread = self.threads.clone().acquire_owned().await;
        // A check goes on when its call is dropped, and takes its place until it has ended.
        let checking = spawn_blocking(move || {
            let _held = (place, thread);
            check()
        });
        checking.await.unwrap_or_else(|error| {
            let text = format!("checking a value of `{name}` against its schema failed");
            Err(CallError::new(ErrorKind::Internal, text).with_private(error.to_string()))
        })
    }
}

/// Fills in what the schema gives a default for, if the tool wants that. Nothing is checked: a
/// caller that may not call the tool learns nothing of its schema.
pub(crate) fn fill_defaults(mut resolved: Resolved) -> Resolved {
    let filled = match &resolved.target {
        Target::Tool(tool) if tool.fill_defaults => {
            let given = resolved.call.head.arguments.as_ref();
            Some(tool.effective_arguments(given)).filter(|filled| given != Some(filled))
        }
        _ => None,
    };
    if let Some(filled) = filled {
        Arc::make_mut(&mut resolved.call).set_arguments(filled);
    }
    resolved
}

/// Checks a tool's arguments.
pub(crate) async fn check_arguments(
    threads: &CheckThreads,
    resolved: &Resolved,
) -> Result<(), CallError> {
    match is_quick(resolved) {
        true => check_arguments_now(resolved),
        false => {
            let (name, resolved) = (resolved.target.name().to_owned(), resolved.clone());
            // On the heap, like all that few calls do: it would make every call larger.
            let principal = resolved.call.caller.principal.clone();
            Box::pin(threads.run(&principal, &name, move || check_arguments_now(&resolved))).await
        }
    }
}

/// Checks a tool's arguments ahead of [`check_arguments`], unless that takes long.
pub fn check_arguments_early(resolved: &Resolved) -> Result<(), CallError> {
    match is_quick(resolved) {
        true => check_arguments_now(resolved),
        false => Ok(()),
    }
}

fn is_quick(resolved: &Resolved) -> bool {
    let Target::Tool(tool) = &resolved.target else { return true };
    resolved.call.head.arguments.as_ref().is_none_or(|given| tool.input.is_quick(given))
}

fn check_arguments_now(resolved: &Resolved) -> Result<(), CallError> {
    let Target::Tool(tool) = &resolved.target else { return Ok(()) };
    let given = resolved.call.head.arguments.as_ref().filter(|given| !given.is_null());
    // Not earlier: it would tell what is not there from what one may not see.
    if given.is_some_and(|given| !given.is_object()) {
        return Err(CallError::invalid_params("`arguments` must be an object"));
    }
    let checked = tool.input.check(given.unwrap_or(&RawJson::EMPTY_OBJECT));
    checked.map_err(|violations| {
        let violations = violations.about(Subject::Arguments);
        let text = format!("the arguments of `{}` are not valid: {violations}", tool.name);
        CallError::new(ErrorKind::InvalidArguments, text)
    })
}

/// Checks a tool's structured result against the schema it promised.
pub(crate) async fn check_result(
    threads: &CheckThreads,
    principal: &Arc<str>,
    target: &Target,
    reply: Reply,
) -> Result<Reply, CallError> {
    let (Target::Tool(tool), Reply::Result(result)) = (target, &reply) else {
        return Ok(reply);
    };
    let Some(schema) = tool.output.as_ref().filter(|_| !result.is_error()) else {
        return Ok(reply);
    };
    let structured = result.get(STRUCTURED);
    if structured.is_none() && states_no_data(result) {
        return Ok(filled(schema, reply));
    }
    if structured.as_ref().is_none_or(|it| schema.is_quick(it)) {
        check_structured(tool, schema, structured)?;
    } else {
        let (tool, schema) = (tool.clone(), schema.clone());
        let name = tool.name.clone();
        let check = move || check_structured(&tool, &schema, structured);
        Box::pin(threads.run(principal, &name, check)).await?;
    }
    Ok(reply)
}

/// A result that has no data on purpose. Clients that insist on structured content get an empty
/// object where the schema allows one.
fn filled(schema: &Schema, reply: Reply) -> Reply {
    match reply {
        Reply::Result(result) if schema.check(&RawJson::EMPTY_OBJECT).is_ok() => {
            let filled = result.edit().set(STRUCTURED, RawJson::EMPTY_OBJECT).apply();
            Reply::result(filled)
        }
        reply => reply,
    }
}

fn check_structured(
    tool: &ToolEntry,
    schema: &Schema,
    structured: Option<RawJson>,
) -> Result<(), CallError> {
    let problem = match structured {
        Some(structured) => match schema.check(&structured) {
            Ok(()) => return Ok(()),
            Err(violations) => violations.to_string(),
        },
        None => "it has no structuredContent".to_owned(),
    };
    let text = format!("the tool `{}` broke its own outputSchema: {problem}", tool.name);
    Err(CallError::new(ErrorKind::BrokenPromise, text))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A check that says that it runs, and ends when it is told to.
    fn check(
        begun: mpsc::Sender<()>,
        end: mpsc::Receiver<()>,
    ) -> impl FnOnce() -> Result<(), CallError> + Send {
        move || {
            let _ = begun.send(());
            let _ = end.recv();
            Ok(())
        }
    }

    #[tokio::test]
    async fn checks_wait_for_a_thread_and_are_refused_beyond_the_queue() {
        let threads = Arc::new(CheckThreads::new(1, 1));
        let (begun, begins) = mpsc::channel();
        let mut running = Vec::new();
        for _ in 0..2 {
            let (threads, begun) = (threads.clone(), begun.clone());
            let (end, ended) = mpsc::channel();
            let run = async move { threads.run(&"me".into(), "t", check(begun, ended)).await };
            running.push((tokio::spawn(run), end));
            tokio::task::yield_now().await;
        }
        let refused =
            threads.run(&"me".into(), "t", || Ok(())).await.expect_err("no place is left");
        assert!(refused.public.contains("2 large values"), "{}", refused.public);
        begins.recv().expect("the first runs");
        assert!(begins.try_recv().is_err(), "the second waits");
        for (running, end) in running {
            end.send(()).expect("it runs or will");
            running.await.expect("no panic").expect("it is checked");
        }
        assert!(threads.run(&"me".into(), "t", || Ok(())).await.is_ok());
    }

    #[tokio::test]
    async fn one_principal_leaves_places_to_others() {
        let threads = Arc::new(CheckThreads::new(1, 7));
        let (begun, _begins) = mpsc::channel();
        let mut ends = Vec::new();
        let mut start = |principal: &str| {
            let (threads, begun, principal) = (threads.clone(), begun.clone(), principal.into());
            let (end, ended) = mpsc::channel();
            ends.push(end);
            tokio::spawn(async move { threads.run(&principal, "t", check(begun, ended)).await })
        };
        let mut running = vec![start("me"), start("me")];
        tokio::task::yield_now().await;
        let refused = threads.run(&"me".into(), "t", || Ok(())).await.expect_err("a share is used");
        assert!(refused.public.contains("2 large values"), "{}", refused.public);
        running.push(start("you"));
        tokio::task::yield_now().await;
        drop(ends);
        for running in running {
            running.await.expect("no panic").expect("it is checked");
        }
        assert!(threads.by_principal.lock().unwrap().is_empty(), "all places are given back");
    }

    #[tokio::test]
    async fn a_dropped_call_keeps_its_place_until_the_check_has_ended() {
        let threads = Arc::new(CheckThreads::new(1, 0));
        let ((begun, begins), (end, ended)) = (mpsc::channel(), mpsc::channel());
        let running = {
            let threads = threads.clone();
            tokio::spawn(async move { threads.run(&"me".into(), "t", check(begun, ended)).await })
        };
        tokio::task::yield_now().await;
        begins.recv().expect("it runs");
        running.abort();
        let _ = running.await;
        assert!(
            threads.run(&"me".into(), "t", || Ok(())).await.is_err(),
            "the thread is still busy"
        );
        end.send(()).expect("it runs");
        let _place = threads.places.acquire().await.expect("a place when it has ended");
    }
}
