//! The condition of an access rule, in CEL. Its cost is bounded before it runs, and a condition that cannot
//! be evaluated is told apart from one that is false.

mod analysis;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelMap, CelString};
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, Env, ExecutionError, Program, Value};
use gantry_protocol::RawJson;

use self::analysis::Survey;

/// How large a condition may be, and what it may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionBounds {
    /// Characters of its text.
    pub length: usize,
    /// How deep its parts may be nested.
    pub depth: usize,
    /// Bytes of arguments that are looked at. More of them cannot be answered.
    pub bytes: usize,
    /// Values in the arguments, for each costs time in `all` and its like.
    pub values: usize,
}

impl Default for ConditionBounds {
    fn default() -> Self {
        Self { length: 2048, depth: 16, bytes: 1024 * 1024, values: 10_000 }
    }
}

/// Why a condition cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It is too long.
    #[error("the condition has more than {0} characters; split the rule")]
    Long(usize),
    /// Its parts are nested too deeply.
    #[error("the condition is nested more than {0} deep; simplify it, or split the rule")]
    Deep(usize),
    /// It is no CEL.
    #[error("the condition is not valid CEL: {0}")]
    Syntax(String),
    /// It names what is not there.
    #[error("the condition names `{0}`; it can use {names}", names = NAMES.join(", "))]
    Name(String),
    /// It calls what is not there.
    #[error("the condition calls `{0}`; it can use {functions} and the macros of CEL", functions = analysis::FUNCTIONS.join(", "))]
    Function(String),
    /// It goes through a list inside another such walk, which takes too long for long lists.
    #[error("the condition has a macro such as `all` inside another one; use one at a time")]
    Nested,
}

/// Why a condition could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// Something it asks for is not there.
    #[error("there is no `{0}`; ask for it with `has(…)` first")]
    Missing(String),
    /// Values of types that do not go together.
    #[error("{0}")]
    Types(String),
    /// It gave something that is neither true nor false.
    #[error("it is neither true nor false")]
    NoAnswer,
    /// The arguments are too large to be looked at, or name a member twice.
    #[error("the arguments {0}")]
    Arguments(&'static str),
    /// It failed in some other way.
    #[error("its values cannot be used like that")]
    Failed,
}

/// A condition, ready to be asked.
pub struct Condition {
    text: Arc<str>,
    program: Program,
    bounds: ConditionBounds,
    needs_arguments: bool,
    needs_annotations: bool,
    needs_caller: bool,
    /// The members that it asks for.
    members: Box<[String]>,
    /// Whether it was told that it could not be answered: once is enough.
    told: AtomicBool,
}

/// Ten times what the deepest condition takes that is let through.
const PARSER_STACK: usize = 32 * 1024 * 1024;

static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(Env::stdlib().with_optional_support(false)));

impl Condition {
    /// Reads a condition.
    pub fn new(text: &str, bounds: ConditionBounds) -> Result<Self, ConditionError> {
        if text.chars().count() > bounds.length {
            return Err(ConditionError::Long(bounds.length));
        }
        analysis::check_text(text, bounds.depth)?;
        let program = parse(text)?;
        let survey = Survey::of(program.expression(), bounds.depth)?;
        Ok(Self {
            text: text.into(),
            bounds,
            needs_arguments: survey.needs("args"),
            needs_annotations: survey.needs("annotations"),
            needs_caller: survey.needs_caller(),
            members: survey.members.into(),
            told: AtomicBool::new(false),
            program,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the answer depends on the arguments of the call.
    pub fn needs_arguments(&self) -> bool {
        self.needs_arguments
    }

    /// Whether the answer depends on who calls.
    pub(super) fn needs_caller(&self) -> bool {
        self.needs_caller
    }

    /// Whether it holds.
    pub(super) fn holds(&self, eval_context: &EvalContext<'_>) -> Result<bool, Unanswered> {
        let run = || self.run(eval_context);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Unanswered::Failed))
    }

    fn run(&self, eval_context: &EvalContext<'_>) -> Result<bool, Unanswered> {
        // Values borrow from these, and must not outlive them.
        let (arguments, annotations) = (eval_context.arguments(), eval_context.annotations());
        let mut context = Context::with_env(ENVIRONMENT.clone());
        if self.needs_arguments {
            let read = value::read(&arguments, self.bounds, &self.members)
                .map_err(Unanswered::Arguments)?;
            context.add_variable_as_val("args", read);
        }
        if self.needs_annotations {
            let read = value::read(&annotations, ConditionBounds::default(), &[]);
            let none = |_| -> value::JsonVal<'_> { Box::new(CelMap::default()) };
            context.add_variable_as_val("annotations", read.unwrap_or_else(none));
        }
        context.set_variable_resolver(eval_context);
        match self.program.execute(&context) {
            Ok(Value::Bool(answer)) => Ok(answer),
            Ok(_) => Err(Unanswered::NoAnswer),
            Err(error) => Err(unanswered(error)),
        }
    }

    /// Whether this is the first time that it could not be answered.
    pub(super) fn tell_once(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }
}

/// The parser is not ours and takes much of the stack, which a file must not exhaust: it has one of
/// its own. A panic in it is an error too.
fn parse(text: &str) -> Result<Program, ConditionError> {
    let unreadable = || ConditionError::Syntax("it cannot be read".to_owned());
    std::thread::scope(|scope| {
        let parsing = std::thread::Builder::new().stack_size(PARSER_STACK);
        let parsing = parsing.spawn_scoped(scope, || ENVIRONMENT.compile(text));
        let parsed = parsing.map_err(|_| unreadable())?.join();
        let parsed = parsed.map_err(|_| unreadable())?;
        parsed.map_err(|errors| ConditionError::Syntax(first_line(&errors)))
    })
}

/// What to say of an error. Values are left out, for they may be secret.
fn unanswered(error: ExecutionError) -> Unanswered {
    match error {
        ExecutionError::NoSuchKey(key) => Unanswered::Missing(key.to_string()),
        ExecutionError::UndeclaredReference(name) => Unanswered::Missing(name.to_string()),
        ExecutionError::NoSuchOverload(overload) => Unanswered::Types(overload.to_string()),
        _ => Unanswered::Failed,
    }
}

fn first_line(errors: &impl std::fmt::Display) -> String {
    let text = errors.to_string();
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason").to_owned()
}

impl std::fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Condition").field(&self.text).finish()
    }
}

/// Everything that a condition can name.
const NAMES: [&str; 10] = [
    "principal",
    "client",
    "face",
    "server",
    "tool",
    "prompt",
    "uri",
    "method",
    "annotations",
    "args",
];

/// Those that depend on who calls.
const OF_CALLER: [&str; 3] = ["principal", "client", "face"];

/// One call as conditions see it. What does not apply is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::rules) struct EvalContext<'a> {
    pub(in crate::rules) principal: &'a str,
    pub(in crate::rules) client: &'a str,
    pub(in crate::rules) virtual_server: &'a str,
    pub(in crate::rules) server: &'a str,
    pub(in crate::rules) tool: &'a str,
    pub(in crate::rules) prompt: &'a str,
    pub(in crate::rules) uri: &'a str,
    pub(in crate::rules) method: &'a str,
    /// The definition of what is called, which has the annotations.
    pub(in crate::rules) definition: Option<&'a RawJson>,
    /// As the client sent them.
    pub(in crate::rules) arguments: Option<&'a RawJson>,
}

impl VariableResolver for EvalContext<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let text = match variable.trim_start_matches('.') {
            "principal" => self.principal,
            "client" => self.client,
            "face" => self.virtual_server,
            "server" => self.server,
            "tool" => self.tool,
            "prompt" => self.prompt,
            "uri" => self.uri,
            "method" => self.method,
            _ => return None,
        };
        Some(CowVal::owned(CelString::from(text)))
    }
}

impl EvalContext<'_> {
    /// The annotations, an object; an empty one if there are none.
    fn annotations(&self) -> RawJson {
        let given = self.definition.and_then(|definition| definition.get("annotations"));
        given.filter(RawJson::is_object).unwrap_or(RawJson::EMPTY_OBJECT)
    }

    /// The arguments; an empty object if there are none.
    fn arguments(&self) -> RawJson {
        let given = self.arguments.filter(|given| !given.is_null());
        given.cloned().unwrap_or(RawJson::EMPTY_OBJECT)
    }
}

#[cfg(test)]
mod tests;
