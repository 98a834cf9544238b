//! Tools that run long, and requests about the tasks that their calls become.

use std::net::SocketAddr;

use gantry::{Context, Failure, Tool, ToolResult};
use serde_json::{Value, json};

use crate::request::{PREFIX, Request, call, request};
use crate::test_server::{TestServer, soon};

/// Adds the tools to a running house.
pub fn add(test_server: &TestServer) {
    let (latch, other) = (test_server.latch.clone(), test_server.latch.clone());
    let tools = [
        plain("long_wait").long_running().run(move |_: Value, context: Context| {
            let latch = latch.clone();
            async move {
                context.progress(1.0, None, Some("at the gate"));
                latch.pass().await;
                Ok::<_, Failure>("done")
            }
        }),
        plain("long_ask").long_running().run(ask_two),
        plain("long_twice").long_running().run(async |_: Value, context: Context| {
            Ok::<_, Failure>(format!("{}, {}", ask(&context).await?, ask(&context).await?))
        }),
        plain("long_fail")
            .long_running()
            .run(async |_: Value, _| Err::<&str, _>(Failure::new("it broke"))),
        plain("long_error")
            .long_running()
            .run(async |_: Value, _| Err::<&str, _>(Failure::with_code(4001, "not on a Sunday"))),
        plain("long_large").long_running().run(async |arguments: Value, _| {
            let size = arguments["size"].as_u64().and_then(|size| usize::try_from(size).ok());
            Ok::<_, Failure>("x".repeat(size.unwrap_or_default()))
        }),
        plain("long_only").task_required().run(async |_: Value, context: Context| {
            let name = ask(&context).await?;
            context.become_task();
            Ok::<_, Failure>(name)
        }),
        // As a server marks it that has no hints of ours.
        plain("long_marked").member("execution", json!({"taskSupport": "required"})).run(
            move |_: Value, context: Context| {
                let latch = other.clone();
                async move {
                    context.become_task();
                    context.progress(1.0, None, Some("at the gate"));
                    latch.pass().await;
                    Ok::<_, Failure>("done")
                }
            },
        ),
    ];
    for tool in tools {
        test_server.server.handlers().add_tool(tool).expect("the name is free");
    }
}

fn plain(name: &str) -> Tool {
    Tool::new(name, format!("The fixture `{name}`.")).input_schema(json!({"type": "object"}))
}

async fn ask(context: &Context) -> Result<String, Failure> {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let answer = context.elicit("Who are you?", &schema).await?;
    let filled = answer.accepted::<Value>().unwrap_or_default();
    Ok(filled["name"].as_str().unwrap_or("nobody").to_owned())
}

async fn ask_two(_: Value, context: Context) -> Result<ToolResult, Failure> {
    let (one, other) = tokio::join!(ask(&context), ask(&context));
    Ok(ToolResult::text(format!("{} and {}", one?, other?)))
}

/// What a client declares that takes tasks and answers questions.
pub fn able() -> Value {
    json!({"elicitation": {}, "extensions": {(format!("{PREFIX}tasks")): {}}})
}

/// A call by a client that takes tasks.
pub fn begin(tool: &str, arguments: Value) -> Request {
    call(tool, arguments).can(able())
}

/// A request about a task.
#[expect(clippy::needless_pass_by_value, reason = "cases write their values in place")]
pub fn about(method: &str, task: Value) -> Request {
    request(method, json!({"taskId": task})).can(able())
}

/// Answers to the questions of a task.
pub fn update(task: Value, responses: Value) -> Request {
    about("tasks/update", task).set("/params/inputResponses", responses)
}

/// Begins a task and gives its name.
pub async fn begun(test_server: &TestServer, tool: &str, arguments: Value) -> Value {
    let created = begin(tool, arguments).ask(test_server.address).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    created["result"]["taskId"].clone()
}

/// The task as soon as it has that status.
pub async fn settled(test_server: &TestServer, task: &Value, status: &str) -> Value {
    settled_at(test_server.address, task, status).await
}

/// The task of a server at that address as soon as it has that status.
pub async fn settled_at(address: SocketAddr, task: &Value, status: &str) -> Value {
    let reached = async {
        loop {
            let found = about("tasks/get", task.clone()).ask(address).await;
            let now = found["result"]["status"].as_str().unwrap_or_else(|| panic!("{found}"));
            if now == status {
                return found["result"].clone();
            }
            assert!(matches!(now, "working" | "input_required"), "not {status}: {found}");
        }
    };
    soon(status, reached).await
}
