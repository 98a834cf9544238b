//! `gantry call --plan`: several calls in one request, with a table of what became of them.

use std::sync::Arc;

use gantry::{Level, Method, RawJson};
use gantry_gateway::{Call, Outcome, Reply, in_calls};
use gantry_protocol::JsonLimits;

use crate::args::CallOptions;
use crate::commands::call::approval::{self, ApprovalPrompt};
use crate::commands::call::input::{read_file, unreadable};
use crate::commands::call::{refused, session, watch};
use crate::commands::tools;
use crate::config::plain_json;
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};

/// Runs the plan in a file.
pub(crate) async fn run(options: &CallOptions, file: &str) -> Result<(), Exit> {
    let plan = read(file)?;
    let mut prompt = ApprovalPrompt::new(options.yes);
    let outcome = match tools::running(&options.source).await? {
        Some(session) => session::send(&session, Method::Batch, plan.clone(), &mut prompt).await,
        None => run_here(options, &plan, &mut prompt).await,
    };
    let result = match outcome? {
        Ok(Reply::Result(result)) => result,
        Ok(_) => return Err(Exit::bug("the batch returned an invalid result")),
        Err(error) => return Err(refused(&error)),
    };
    match options.json {
        true => render::print(&render::pretty(&result))?,
        false => render::print(&table(&plan, &result))?,
    }
    match entries(&result).iter().all(|entry| text(entry, &["status"]) == "ok") {
        true => Ok(()),
        false => Err(Exit::silent(Code::Failed)),
    }
}

async fn run_here(
    options: &CallOptions,
    plan: &RawJson,
    prompt: &mut ApprovalPrompt,
) -> Result<Outcome, Exit> {
    let reach = &options.source.reach;
    let opened = tools::open_target(reach, None).await?;
    let mut call = Call::new(Method::Batch, plan.clone(), Arc::new(approval::caller(reach)));
    call.wants_progress = true;
    call.log_level = Some(Level::Info);
    let outcome = watch(opened.server.gateway().start(call), prompt).await;
    opened.close().await;
    outcome
}

/// The plan as plain JSON; comments and trailing commas are taken out.
fn read(file: &str) -> Result<RawJson, Exit> {
    let place = if file == "-" { "standard input" } else { file };
    let wrong = |what: String| {
        let hint = r#"write {"calls": [{"id": "a", "name": "text.count", "arguments": {}}]}"#;
        Exit::new(Code::Usage, format!("{place}: {what}")).hint(hint)
    };
    let written = read_file(file).map_err(|error| unreadable("plan", file, &error))?;
    let plain = plain_json(written.as_bytes()).map_err(|_| wrong("unclosed comment".to_owned()))?;
    let plan =
        RawJson::parse(plain, JsonLimits::default()).map_err(|error| wrong(error.to_string()))?;
    let plan = in_calls(&plan).map_err(|error| wrong(error.public))?;
    if plan.get("calls").is_none() {
        return Err(wrong("the plan has no `calls`".to_owned()));
    }
    Ok(plan)
}

/// Each call with its tool, how it ended, how long it took, and why it failed.
fn table(plan: &RawJson, result: &RawJson) -> String {
    let calls: Vec<RawJson> =
        plan.get("calls").map(|it| it.elements().collect()).unwrap_or_default();
    let mut table = Table::default();
    for (call, entry) in calls.iter().zip(entries(result)) {
        let took = entry.get("tookMs").and_then(|it| it.read::<f64>());
        let took = took.map(|took| format!("{took:.0} ms")).unwrap_or_default();
        let called = text(call, &["name"]) + &text(call, &["uri"]);
        table.row([
            &text(&entry, &["id"]),
            &called,
            &text(&entry, &["status"]),
            &took,
            &why(&entry),
        ]);
    }
    table.to_text(Style::of_stdout())
}

/// Why a call did not go well; nothing for one that did.
fn why(entry: &RawJson) -> String {
    let content = entry.at(&["result", "content"]).filter(|_| text(entry, &["status"]) == "error");
    let first = content.and_then(|content| content.elements().next());
    let said = first.map(|block| text(&block, &["text"])).unwrap_or_default();
    text(entry, &["reason"]) + &text(entry, &["error", "error_message"]) + &said
}

fn entries(result: &RawJson) -> Vec<RawJson> {
    result.get("results").map(|results| results.elements().collect()).unwrap_or_default()
}

fn text(value: &RawJson, path: &[&str]) -> String {
    value.at(path).and_then(|it| it.to_text()).unwrap_or_default()
}
