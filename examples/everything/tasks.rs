//! Tools that run long. A client that takes tasks gets one in place of the result, and comes back
//! for what it came to; any other waits.

use std::time::Duration;

use gantry::{Context, Failure, ServerBuilder, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::rounds::fill_in;
use crate::tools::Nothing;

/// The code for a fault inside.
const INTERNAL_ERROR: i64 = -32603;
/// How long a job takes that is only for show.
const JOB: Duration = Duration::from_secs(1);

/// Adds the tools.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    let long = |name: &str, description: &str| Tool::new(name, description).long_running();
    server
        .tool(Tool::new("greet", "Greets someone, at once.").run(greet))
        .tool(
            Tool::new("slow_compute", "Computes for as long as it is told.")
                .task_optional()
                .run(compute),
        )
        .tool(long("failing_job", "Works, then fails.").task_required().run(fail))
        .tool(long("protocol_error_job", "Breaks inside.").run(break_inside))
        .tool(long("confirm_delete", "Asks before it deletes nothing.").run(confirm_delete))
        .tool(long("multi_input", "Asks two things at once.").run(multi_input))
        .tool(
            Tool::new("test_tool_with_task", "Asks for a name, then runs long.")
                .task_required()
                .run(ask_first),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet.
    name: String,
}

async fn greet(greeting: Greeting, _: Context) -> Result<String, Failure> {
    Ok(format!("Hello, {}!", greeting.name))
}

#[derive(Deserialize, JsonSchema)]
struct Computation {
    /// How long it takes, in seconds.
    #[serde(default)]
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    /// What to call it.
    label: Option<String>,
}

/// What takes no time is not worth a task.
async fn compute(computation: Computation, context: Context) -> Result<String, Failure> {
    let label = computation.label.unwrap_or_else(|| "computation".to_owned());
    if computation.seconds > 0.0 {
        context.become_task();
    }
    let end = Instant::now() + Duration::try_from_secs_f64(computation.seconds)?;
    let mut worked = 0.0;
    while Instant::now() < end {
        sleep_until(end.min(Instant::now() + JOB)).await;
        worked += JOB.as_secs_f64();
        let message = format!("{label}: about {worked} of {} s", computation.seconds);
        context.progress(worked, None, Some(&message));
    }
    Ok(format!("{label} took {} seconds", computation.seconds))
}

async fn fail(_: Nothing, _: Context) -> Result<String, Failure> {
    sleep(JOB).await;
    Err(Failure::new("the job failed, as it always does"))
}

async fn break_inside(_: Nothing, _: Context) -> Result<String, Failure> {
    sleep(JOB / 10).await;
    Err(Failure::with_code(INTERNAL_ERROR, "the job broke inside, as it always does"))
}

#[derive(Deserialize, JsonSchema)]
struct Deletion {
    /// What would be deleted.
    filename: String,
}

async fn confirm_delete(deletion: Deletion, context: Context) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        confirm: bool,
    }
    let form = json!({
        "type": "object",
        "properties": {"confirm": {"type": "boolean"}},
        "required": ["confirm"]
    });
    let name = deletion.filename;
    let answer = context.elicit(&format!("Delete {name}?"), &form).await?;
    match answer.accepted::<Answer>() {
        Some(Answer { confirm: true }) => Ok(format!("{name} would be deleted now")),
        _ => Ok(format!("{name} stays")),
    }
}

async fn multi_input(_: Nothing, context: Context) -> Result<String, Failure> {
    let (first, second) = tokio::join!(
        fill_in(&context, "first", "What is the first name?", "name"),
        fill_in(&context, "second", "What is the second name?", "name"),
    );
    Ok(format!("The names are {} and {}.", first?, second?))
}

async fn ask_first(_: Nothing, context: Context) -> Result<String, Failure> {
    let name = fill_in(&context, "user_name", "What is your name?", "name").await?;
    context.become_task();
    sleep(JOB / 10).await;
    Ok(format!("Hello, {name}, and thanks for waiting."))
}
