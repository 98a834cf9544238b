//! What is wrong with an argument: which one, what was given, what is expected.

use gantry_protocol::JsonError;
use gantry_providers::suggestion::nearest;

/// Why words are no arguments for a tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// A word without `=`.
    #[error("`{0}` has no value; write `{0}=VALUE`")]
    NoValue(String),
    /// All arguments as one object, which have a place of their own.
    #[error("a JSON object has its place behind `--args`; write `--args '{{…}}'`, or `KEY=VALUE`")]
    Object,
    /// The schema knows no such argument.
    #[error("there is no argument `{name}`; {advice}")]
    Unknown { name: String, advice: String },
    /// What was typed is not what the schema asks for.
    #[error("`{key}` must be {expected}; got `{given}`")]
    Form { key: String, expected: String, given: String },
    /// One value is wanted and several were given.
    #[error("`{0}` is given more than once, and is not a list; give it once")]
    Twice(String),
    /// What was said to be JSON is none.
    #[error("`{key}` is not valid JSON: {error}")]
    Json { key: String, error: JsonError },
    /// A file cannot be read.
    #[error("`{key}` cannot be read from `{path}`: {error}")]
    File { key: String, path: String, error: std::io::Error },
    /// Arguments that must be given are not.
    #[error("{}", missing(.0))]
    Missing(Vec<String>),
}

/// The most of a typed text that is repeated.
const SHOWN: usize = 60;

impl ArgumentError {
    pub(super) fn unknown(path: &[String], part: &str, known: &[String]) -> Self {
        let whole = |last: &str| {
            path.iter().map(String::as_str).chain([last]).collect::<Vec<_>>().join(".")
        };
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let advice = match nearest(part, &names) {
            Some(meant) => format!("did you mean `{}`?", whole(meant)),
            None if known.is_empty() => "the tool takes none".to_owned(),
            None => format!("the arguments are {}", quoted(known)),
        };
        Self::Unknown { name: whole(part), advice }
    }

    pub(super) fn form(key: &str, expected: impl Into<String>, given: &str) -> Self {
        let cut = given.char_indices().nth(SHOWN).map(|(at, _)| format!("{}…", &given[..at]));
        let given = cut.unwrap_or_else(|| given.to_owned());
        Self::Form { key: key.to_owned(), expected: expected.into(), given }
    }
}

fn missing(names: &[String]) -> String {
    match names {
        [name] => format!("the argument `{name}` is missing"),
        names => format!("the arguments {} are missing", quoted(names)),
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        quoted => quoted.concat(),
    }
}
