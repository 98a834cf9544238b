//! Tools that ask nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gantry::{
    Context, Failure, Handlers, Level, ObjectWriter, RawJson, ServerBuilder, Tool, ToolResult,
};
use serde_json::{Value, json};

use crate::content::NOTE;

/// A number that floating point cannot hold.
const BIG: u64 = 9_007_199_254_740_993;
/// The tool that comes and goes.
const GROWN: &str = "grown";

/// Adds them.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    let (touched, grown) = (server.handlers(), server.handlers());
    let cancelled = Arc::new(AtomicU64::new(0));
    let waiting = cancelled.clone();
    server
        .tool(plain("echo", "Gives back its arguments.", async |_, context| echo(&context)))
        .tool(add())
        .tool(plain("progress", "Reports progress three times.", progress))
        .tool(plain("logs", "Logs two messages.", logs))
        .tool(plain("slow", "Waits until it is cancelled.", move |_, context| {
            let run = Run(waiting.clone());
            async move {
                let _run = run;
                // Who waits for this knows that the call can be cancelled now.
                report(&context, 1);
                std::future::pending().await
            }
        }))
        .tool(plain("cancelled", "Counts the cancelled calls of `slow`.", move |_, _| {
            let count = cancelled.load(Ordering::Relaxed).to_string();
            async { Ok(ToolResult::text(count)) }
        }))
        .tool(plain("fail", "Fails.", async |_, _| Ok(ToolResult::text("it broke").error())))
        .tool(plain("touch", "Says that the note has changed.", move |_, _| {
            touched.resource_updated(NOTE);
            async { Ok(ToolResult::text("touched")) }
        }))
        .tool(plain("grow", "Adds the tool `grown`, or takes it away.", move |_, _| {
            let grown = grow(&grown);
            async { grown }
        }))
}

/// A tool that takes any arguments.
pub(crate) fn plain<F, R>(name: &str, description: &str, run: F) -> Tool
where
    F: Fn(Value, Context) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolResult, Failure>> + Send + 'static,
{
    Tool::new(name, description).input_schema(json!({"type": "object"})).run(run)
}

/// The arguments as they came, which no parsed value could give back.
fn echo(context: &Context) -> Result<ToolResult, Failure> {
    let arguments = context.params().get("arguments").unwrap_or(RawJson::EMPTY_OBJECT);
    let order = ObjectWriter::new().value("z", &1).value("a", &2).finish();
    let kept = ObjectWriter::new().value("big", &BIG).value("order", &order).finish();
    let meta = ObjectWriter::new().value("peer.example/kept", &kept).finish();
    Ok(ToolResult::text(arguments.as_str()).structured(arguments).meta(meta))
}

fn add() -> Tool {
    let integer = json!({"type": "integer"});
    let terms = json!({
        "type": "object",
        "properties": {"a": integer, "b": integer},
        "required": ["a", "b"],
    });
    let sum = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
    Tool::new("add", "Adds two numbers.").input_schema(terms).output_schema(sum).run(
        async |terms: Value, _| {
            let term = |name: &str| terms[name].as_i64().unwrap_or_default();
            let sum = json!({"sum": term("a") + term("b")});
            Ok::<_, Failure>(ToolResult::text(sum.to_string()).structured(RawJson::of(&sum)?))
        },
    )
}

async fn progress(_: Value, context: Context) -> Result<ToolResult, Failure> {
    for step in 1..=3_u32 {
        report(&context, step);
    }
    Ok(ToolResult::text("done"))
}

fn report(context: &Context, step: u32) {
    context.progress(f64::from(step), Some(3.0), Some(&format!("step {step}")));
}

async fn logs(_: Value, context: Context) -> Result<ToolResult, Failure> {
    context.log(Level::Info, "one").await;
    context.log(Level::Warning, "two").await;
    Ok(ToolResult::text("logged"))
}

/// A call that never ends by itself: when it is dropped, it was cancelled.
struct Run(Arc<AtomicU64>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn grow(handlers: &Handlers) -> Result<ToolResult, Failure> {
    if !handlers.remove_tool(GROWN) {
        let tool = plain(GROWN, "Comes and goes.", async |_, _| Ok(ToolResult::text("new")));
        handlers.add_tool(tool)?;
    }
    Ok(ToolResult::text("grew"))
}
