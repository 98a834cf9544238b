//! `gantry call`: a call of the running gateway, or in this process past the same policies.

pub(crate) mod approval;
pub(crate) mod arguments;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod session;

use std::sync::Arc;

use gantry::{Level, Method, ObjectWriter, RawJson};
use gantry_gateway::{
    Call, CallError, CallEvent, CallNotification, CallStream, ErrorKind, Outcome, Reply,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::admin_client::Session;
use crate::args::CallOptions;
use crate::commands::call::approval::ApprovalPrompt;
use crate::commands::call::input::Wanted;
use crate::commands::tools;
use crate::exit::{Code, Exit};
use crate::render::{self, ProgressLine, Style};

pub(crate) use crate::commands::call::approval::said;
pub(crate) use crate::commands::call::input::read_file;

pub(crate) async fn run(options: &CallOptions) -> Result<(), Exit> {
    if let Some(file) = &options.plan {
        return plan::run(options, file).await;
    }
    let wanted = input::wanted(options)?;
    let mut prompt = ApprovalPrompt::new(options.yes);
    let outcome = match tools::running(&options.source).await? {
        Some(session) => ask(&session, options, &wanted, &mut prompt).await?,
        None => run_here(options, &wanted, &mut prompt).await?,
    };
    if options.contract {
        return output::contract(&outcome);
    }
    match outcome {
        Ok(Reply::Result(result)) => {
            output::show(&result, options.json).map_err(|exit| prompt.advise(exit, &wanted.name))
        }
        Ok(_) => Err(Exit::bug(format!("`{}` returned an invalid result", wanted.name))),
        Err(error) => Err(prompt.advise(refused(&error), &wanted.name)),
    }
}

/// Makes the call in the running gateway, which knows the tool by more names than its list has.
async fn ask(
    session: &Session,
    options: &CallOptions,
    wanted: &Wanted,
    prompt: &mut ApprovalPrompt,
) -> Result<Outcome, Exit> {
    let definitions = session.tools().await?;
    let found = tools::definition(&definitions, &wanted.name);
    let schema = found.as_ref().and_then(|it| it.get("inputSchema"));
    let schema = schema.unwrap_or(RawJson::EMPTY_OBJECT);
    let params = params(options, wanted, &wanted.name, &schema)?;
    let outcome = session::send(session, Method::ToolsCall, params, prompt).await?;
    match outcome {
        // Only the gateway knows whether a name that it does not list can be called.
        Err(error) if found.is_none() && error.kind == ErrorKind::InvalidParams => {
            Err(tools::unlisted(&definitions, &wanted.name, &options.source))
        }
        outcome => Ok(outcome),
    }
}

async fn run_here(
    options: &CallOptions,
    wanted: &Wanted,
    prompt: &mut ApprovalPrompt,
) -> Result<Outcome, Exit> {
    let reach = &options.source.reach;
    let opened = tools::open_target(reach, Some(&wanted.name)).await?;
    let tool = opened.find(&wanted.name)?;
    let schema = tool.definition.get("inputSchema").unwrap_or(RawJson::EMPTY_OBJECT);
    // One that is listed under another name is called by that; a version belongs to the name.
    let called = if wanted.name.contains('@') { &*wanted.name } else { tool.shown() };
    let params = params(options, wanted, called, &schema)?;
    let mut call = Call::new(Method::ToolsCall, params, Arc::new(approval::caller(reach)));
    call.wants_progress = true;
    call.log_level = Some(Level::Info);
    let outcome = watch(opened.server.gateway().start(call), prompt).await;
    opened.close().await;
    outcome
}

/// The params of a call of this name.
fn params(
    options: &CallOptions,
    wanted: &Wanted,
    called: &str,
    schema: &RawJson,
) -> Result<RawJson, Exit> {
    let arguments = input::arguments(options, wanted, schema)?;
    Ok(ObjectWriter::new().value("name", called).raw("arguments", &arguments).finish())
}

/// Steps the call to its end and tells what it says on the way. An interrupt drops it, which ends
/// its processes.
async fn watch(mut running: CallStream, prompt: &mut ApprovalPrompt) -> Result<Outcome, Exit> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut line = ProgressLine::new();
    loop {
        let step = tokio::select! {
            step = running.next_event() => step,
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
        };
        match step {
            CallEvent::Notification(CallNotification::Progress(params)) => line.show(&params),
            CallEvent::Notification(CallNotification::Log(level, params)) => {
                line.clear();
                log(level, &params);
            }
            // Whoever waits need not come back later.
            CallEvent::Notification(
                CallNotification::HangUp { .. } | CallNotification::Task { .. },
            ) => {}
            CallEvent::InputRequests(questions) => {
                line.clear();
                for question in questions {
                    prompt.answer(question).await;
                }
            }
            CallEvent::Done(outcome) => {
                line.clear();
                return Ok(outcome);
            }
        }
    }
    line.clear();
    drop(running);
    Err(Exit::new(Code::Interrupted, "the call was cancelled"))
}

fn listen(kind: SignalKind) -> Result<Signal, Exit> {
    signal(kind).map_err(|error| Exit::bug(format!("signals cannot be received: {error}")))
}

fn log(level: Level, params: &RawJson) {
    let data = params.get("data").unwrap_or(RawJson::NULL);
    let text = data.to_text().unwrap_or_else(|| data.compact().to_string());
    let style = Style::of_stderr();
    let name = format!("{level:?}").to_lowercase();
    let name = if level >= Level::Warning { style.red(&name) } else { style.dim(&name) };
    render::say_styled(&format!("{name} {}", render::one_line(&text)));
}

/// A call that did not come to a result.
fn refused(error: &CallError) -> Exit {
    let code = match error.kind {
        ErrorKind::InvalidParams | ErrorKind::InvalidArguments => Code::Usage,
        ErrorKind::ToolNotFound | ErrorKind::ResourceNotFound | ErrorKind::MethodNotFound => {
            Code::NotFound
        }
        ErrorKind::Refused | ErrorKind::Blocked | ErrorKind::LimitExceeded { .. } => Code::Refused,
        ErrorKind::Timeout => Code::Timeout,
        ErrorKind::Unavailable | ErrorKind::CredentialsRefused { .. } => Code::Unreachable,
        ErrorKind::Internal => Code::Bug,
        _ => Code::Failed,
    };
    Exit::new(code, error.public.clone())
}
