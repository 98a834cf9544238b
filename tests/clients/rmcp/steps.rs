//! The common script: what every client asks of the `everything` server.
//! `python/steps.py` and `node/steps.mjs` hold the same steps.

use rmcp::ServiceError;
use rmcp::model::{ElicitResult, ElicitationAction, ErrorCode};
use serde_json::json;

use crate::Era;
use crate::answers::CallNotification;
use crate::outcome::{Failure, Outcome};
use crate::peer::Peer;

pub(crate) const ROOT: &str = "file:///workspace/gantry";
const WATCHED: &str = "test://watched-resource";

const TOOLS: [&str; 11] = [
    "echo",
    "add",
    "test_tool_with_progress",
    "test_error_handling",
    "test_elicitation",
    "test_sampling",
    "test_roots",
    "test_slow",
    "test_slow_status",
    "test_trigger_resource_update",
    "test_trigger_tool_change",
];
const RESOURCES: [&str; 3] = ["test://static-text", "test://static-binary", WATCHED];
const TEMPLATES: [&str; 1] = ["test://template/{id}/data"];
const PROMPTS: [&str; 2] = ["test_simple_prompt", "test_prompt_with_arguments"];

pub(crate) type Verdict = Result<(), Failure>;

/// Fails the step, saying why, unless the condition holds.
pub(crate) fn expect(condition: bool, reason: impl FnOnce() -> String) -> Verdict {
    if condition { Ok(()) } else { Err(Failure::Unexpected(reason())) }
}

pub(crate) fn expect_names(kind: &str, wanted: &[&str], found: &[String]) -> Verdict {
    let missing: Vec<_> =
        wanted.iter().filter(|name| !found.iter().any(|one| one == *name)).collect();
    expect(missing.is_empty(), || format!("{kind} lack {missing:?}"))
}

pub(crate) async fn list(peer: &mut Peer) -> Verdict {
    expect_names("tools", &TOOLS, &peer.tools().await?)?;
    expect_names("resources", &RESOURCES, &peer.resources().await?)?;
    expect_names("templates", &TEMPLATES, &peer.templates().await?)?;
    expect_names("prompts", &PROMPTS, &peer.prompts().await?)
}

pub(crate) async fn call(peer: &mut Peer) -> Verdict {
    let text = "Grüße, 世界 🏗️";
    let outcome = peer.call("echo", json!({ "text": text })).await?;
    expect(outcome.text == text, || format!("echo gave {:?}", outcome.text))
}

pub(crate) async fn structured(peer: &mut Peer) -> Verdict {
    let found = peer.call("add", json!({ "a": 2, "b": 40.5 })).await?.structured;
    expect(found == Some(json!({ "sum": 42.5 })), || format!("add gave {found:?}"))
}

pub(crate) async fn progress(peer: &mut Peer) -> Verdict {
    while peer.notices.try_recv().is_ok() {}
    peer.call("test_tool_with_progress", json!({})).await?;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        if let Some(CallNotification::Progress(_, progress)) = peer.notices.recv().await {
            seen.push(progress);
        }
    }
    expect(seen.is_sorted_by(|one, next| one < next), || format!("progress was {seen:?}"))
}

pub(crate) async fn error(peer: &mut Peer) -> Verdict {
    let outcome = peer.call("test_error_handling", json!({})).await?;
    expect(outcome.failed, || "test_error_handling did not set isError".to_owned())?;
    match peer.call("no_such_tool", json!({})).await {
        Err(Failure::Service(ServiceError::McpError(refused))) => {
            expect(refused.code == ErrorCode::INVALID_PARAMS, || {
                format!("an unknown tool gave {refused}")
            })
        }
        Err(failure) => Err(failure),
        Ok(outcome) => {
            expect(false, || format!("an unknown tool gave a result: {:?}", outcome.text))
        }
    }
}

pub(crate) async fn validation(peer: &mut Peer) -> Verdict {
    let message = match peer.call("add", json!({ "a": 1, "b": "two" })).await {
        Ok(Outcome { failed: true, text, .. }) => text,
        Ok(_) => return expect(false, || "a wrong type was accepted".to_owned()),
        Err(Failure::Service(ServiceError::McpError(refused))) => refused.message.into_owned(),
        Err(failure) => return Err(failure),
    };
    let mut words = message.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    expect(words.any(|word| word == "b"), || format!("the argument b is not named in {message:?}"))
}

pub(crate) async fn resource(peer: &mut Peer) -> Verdict {
    let text = peer.read("test://static-text").await?;
    let wanted = "This is the content of the static text resource.";
    expect(text == wanted, || format!("static text is {text:?}"))?;
    let text = peer.read("test://template/42/data").await?;
    expect(text.contains("Data for ID: 42"), || format!("the template gave {text:?}"))
}

pub(crate) async fn subscribe(peer: &mut Peer) -> Verdict {
    peer.watch(WATCHED).await?;
    peer.call("test_trigger_resource_update", json!({})).await?;
    let updated = CallNotification::Updated(WATCHED.to_owned());
    peer.notice(|notice| *notice == updated).await?;
    peer.unwatch(WATCHED).await
}

pub(crate) async fn prompt(peer: &mut Peer) -> Verdict {
    let arguments = json!({ "arg1": "hello", "arg2": "wörld" });
    let text = peer.prompt("test_prompt_with_arguments", arguments).await?;
    let wanted = "Prompt with arguments: arg1='hello', arg2='wörld'";
    expect(text == wanted, || format!("the prompt is {text:?}"))
}

pub(crate) async fn completion(peer: &mut Peer) -> Verdict {
    let values = peer.complete("test_prompt_with_arguments", "arg1", "par").await?;
    expect(values == ["paris", "park", "party"], || format!("the values are {values:?}"))
}

pub(crate) async fn elicitation(peer: &mut Peer) -> Verdict {
    let content = json!({ "username": "ada", "email": "ada@example.com" });
    let accept = ElicitResult::new(ElicitationAction::Accept).with_content(content);
    let text = elicited(peer, accept).await?;
    let accepted = text.contains("accept") && text.contains("ada@example.com");
    expect(accepted, || format!("accepted: {text:?}"))?;
    let text = elicited(peer, ElicitResult::new(ElicitationAction::Decline)).await?;
    expect(text.contains("decline"), || format!("declined: {text:?}"))
}

async fn elicited(peer: &mut Peer, answer: ElicitResult) -> Result<String, Failure> {
    *peer.elicitation.lock().expect("no holder of this lock panics") = answer;
    let outcome = peer.call("test_elicitation", json!({ "message": "Who are you?" })).await?;
    Ok(outcome.text)
}

pub(crate) async fn sampling(peer: &mut Peer) -> Verdict {
    let text = peer.call("test_sampling", json!({ "prompt": "What is a gantry?" })).await?.text;
    expect(text.contains("a kind of crane"), || format!("test_sampling gave {text:?}"))
}

pub(crate) async fn roots(peer: &mut Peer) -> Verdict {
    let text = peer.call("test_roots", json!({})).await?.text;
    expect(text == ROOT, || format!("test_roots gave {text:?}"))
}

pub(crate) async fn logging(peer: &mut Peer) -> Verdict {
    // The two eras opt in to log messages in different ways: a session sets its
    // level once, a stateless client says it with each request.
    let tool = match peer.era {
        Era::Legacy => "test_tool_with_logging",
        Era::Modern => "test_logging_tool",
    };
    peer.want_logs().await?;
    peer.call(tool, json!({})).await?;
    peer.notice(|notice| *notice == CallNotification::Log).await
}

pub(crate) async fn cancel(peer: &mut Peer) -> Verdict {
    let before = cancelled(peer).await?;
    peer.call_then_cancel("test_slow", json!({ "seconds": 30 })).await?;
    // The status call is the wait: each round trip lets the server go on, and
    // the limit of the step bounds it.
    while cancelled(peer).await? <= before {}
    Ok(())
}

async fn cancelled(peer: &Peer) -> Result<u64, Failure> {
    let status = peer.call("test_slow_status", json!({})).await?.structured.unwrap_or_default();
    status["cancelled"]
        .as_u64()
        .ok_or_else(|| Failure::Unexpected(format!("test_slow_status gave {status}")))
}

pub(crate) async fn list_changed(peer: &mut Peer) -> Verdict {
    peer.watch(WATCHED).await?;
    peer.call("test_trigger_tool_change", json!({})).await?;
    peer.notice(|notice| *notice == CallNotification::ToolsChanged).await?;
    peer.unwatch(WATCHED).await
}
