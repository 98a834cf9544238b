//! Tools that ask under keys of their own, one round or several, one question or many at once.
//! A client without a session answers each round by calling again.

use gantry::{Context, Failure, InputRequest, Method, RawJson, ServerBuilder, Tool};
use serde_json::{Value, json};

use crate::asking::{question, said};
use crate::tools::Nothing;

/// The code for parameters that do not fit.
const INVALID_PARAMS: i64 = -32602;

/// Adds the tools.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    let tool = |name: &str, description: &str| {
        Tool::new(format!("test_input_required_result_{name}"), description)
    };
    server
        .tool(tool("elicitation", "Asks the user for a name.").run(elicitation))
        .tool(tool("sampling", "Asks the client's model.").run(sampling))
        .tool(tool("list_roots", "Asks for the client's folders.").run(list_roots))
        .tool(tool("request_state", "Asks, and checks the state it gave.").run(confirm))
        .tool(tool("tampered_state", "Asks, and refuses a changed state.").run(confirm))
        .tool(tool("multiple_inputs", "Asks three things at once.").run(multiple_inputs))
        .tool(tool("multi_round", "Asks one thing after another.").run(multi_round))
        .tool(tool("capabilities", "Asks only what the client can answer.").run(capabilities))
}

async fn elicitation(_: Nothing, context: Context) -> Result<String, Failure> {
    let name = fill_in(&context, "user_name", "What is your name?", "name").await?;
    Ok(format!("Hello, {name}!"))
}

async fn sampling(_: Nothing, context: Context) -> Result<String, Failure> {
    let question = sample("What is the capital of France?", 100);
    let answer = context.ask("capital_question", question).await?;
    Ok(format!("The model said: {}", said(&answer)))
}

async fn list_roots(_: Nothing, context: Context) -> Result<String, Failure> {
    let answer = context.ask("client_roots", InputRequest::roots()).await?;
    Ok(format!("The client has {} roots.", count_roots(&answer)))
}

/// The answer comes back with the state that was given out, or it does not come at all.
async fn confirm(_: Nothing, context: Context) -> Result<String, Failure> {
    let answer = context.ask("confirm", form("Please confirm.", "ok", "boolean")).await?;
    let ok: bool = member(&answer, "ok").unwrap_or_default();
    Ok(format!("state-ok, confirmed: {ok}"))
}

async fn multiple_inputs(_: Nothing, context: Context) -> Result<String, Failure> {
    let (name, greeting, roots) = tokio::join!(
        fill_in(&context, "user_name", "What is your name?", "name"),
        context.ask("greeting", sample("Generate a greeting", 50)),
        context.ask("client_roots", InputRequest::roots()),
    );
    let (greeting, roots) = (said(&greeting?), count_roots(&roots?));
    Ok(format!("{greeting} {}, you have {roots} roots.", name?))
}

async fn multi_round(_: Nothing, context: Context) -> Result<String, Failure> {
    let name = fill_in(&context, "step1", "Step 1: What is your name?", "name").await?;
    let color = fill_in(&context, "step2", "Step 2: What is your favorite color?", "color").await?;
    Ok(format!("{name} likes {color}."))
}

async fn capabilities(_: Nothing, context: Context) -> Result<String, Failure> {
    let client = &context.caller().capabilities;
    let mut answers = Vec::new();
    if client.sampling {
        let answer = context.ask("capital_question", sample("What is the capital of France?", 100));
        answers.push(said(&answer.await?));
    }
    if client.elicitation_form {
        answers.push(fill_in(&context, "user_name", "What is your name?", "name").await?);
    }
    if client.roots {
        let answer = context.ask("client_roots", InputRequest::roots()).await?;
        answers.push(format!("{} roots", count_roots(&answer)));
    }
    Ok(format!("The client answered {}: {}", answers.len(), answers.join(", ")))
}

/// Asks the user for one text.
pub(crate) async fn fill_in(
    context: &Context,
    key: &str,
    message: &str,
    field: &str,
) -> Result<String, Failure> {
    let answer = context.ask(key, form(message, field, "string")).await?;
    if let Some("decline" | "cancel") = answer.get("action").and_then(|it| it.to_text()).as_deref()
    {
        return Err(Failure::new(format!("the user did not answer `{message}`")));
    }
    member(&answer, field).ok_or_else(|| {
        Failure::with_code(INVALID_PARAMS, format!("the answer `{key}` has no text `{field}`"))
    })
}

fn form(message: &str, field: &str, kind: &str) -> InputRequest {
    let params = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {field: {"type": kind}},
            "required": [field]
        }
    });
    InputRequest::new(Method::Elicit, params.into())
}

fn sample(text: &str, most_tokens: u32) -> InputRequest {
    InputRequest::new(Method::CreateMessage, question(text, most_tokens).into())
}

/// What the user filled into a field.
fn member<T: serde::de::DeserializeOwned>(answer: &RawJson, field: &str) -> Option<T> {
    answer.at(&["content", field])?.read()
}

fn count_roots(answer: &RawJson) -> usize {
    let roots: Option<Vec<Value>> = answer.get("roots").and_then(|it| it.read());
    roots.map_or(0, |roots| roots.len())
}
