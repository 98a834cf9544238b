//! Completing an argument while the user types.

use std::collections::HashMap;
use std::sync::Arc;

use gantry_gateway::{CallError, Reply, Target};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::{Handling, Tables};

/// Gives the values that fit what was typed.
type Completer = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// Completers by argument.
pub(super) type Completers = HashMap<String, Completer>;

/// The protocol allows no more values than this.
const MOST: usize = 100;

/// What completes the arguments of a prompt or the variables of a template.
pub(super) fn of(tables: &Tables, target: &Target) -> Option<Arc<Completers>> {
    match target {
        Target::Prompt(entry) => {
            tables.prompts.get(&entry.name).map(|(_, it)| it.completers.clone())
        }
        Target::Template(entry, _) => {
            tables.templates.get(&entry.uri_template).map(|(_, it)| it.completers.clone())
        }
        Target::Tool(_) | Target::Resource(_) => None,
    }
}

/// Completes an argument or a variable.
pub(super) fn complete(completers: Option<&Completers>, params: &RawJson) -> Handling {
    let result = values(completers, params);
    Box::pin(async move { result })
}

fn values(completers: Option<&Completers>, params: &RawJson) -> Result<Reply, CallError> {
    let text = |member: &str| {
        let value = params.get("argument").and_then(|argument| argument.get(member)?.to_text());
        value.ok_or_else(|| {
            CallError::invalid_params(format!("`argument.{member}` must be a string"))
        })
    };
    let (name, typed) = (text("name")?, text("value")?);
    let completer = completers.and_then(|completers| completers.get(&name));
    let all = completer.map(|values| values(&typed)).unwrap_or_default();
    let shown = &all[..all.len().min(MOST)];
    let completion = ObjectWriter::new()
        .value("values", shown)
        .value("total", &all.len())
        .value("hasMore", &(shown.len() < all.len()))
        .finish();
    Ok(Reply::result(ObjectWriter::new().raw("completion", &completion).finish()))
}
