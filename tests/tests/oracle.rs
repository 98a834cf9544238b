//! Every message that the server says in the transcripts is what the revision's own schema says it
//! must be, and what an independent model of the newest revision can read.

#![expect(clippy::unwrap_used, reason = "a test may say plainly what it takes for granted")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gantry_tests::transcript::{Spoken, Transcript};
use serde_json::{Value, json};

/// The result that answers each method.
const RESULTS: [(&str, &str); 15] = [
    ("initialize", "InitializeResult"),
    ("server/discover", "DiscoverResult"),
    ("subscriptions/listen", "SubscriptionsListenResult"),
    ("ping", "EmptyResult"),
    ("logging/setLevel", "EmptyResult"),
    ("resources/subscribe", "EmptyResult"),
    ("resources/unsubscribe", "EmptyResult"),
    ("tools/list", "ListToolsResult"),
    ("tools/call", "CallToolResult"),
    ("resources/list", "ListResourcesResult"),
    ("resources/templates/list", "ListResourceTemplatesResult"),
    ("resources/read", "ReadResourceResult"),
    ("prompts/list", "ListPromptsResult"),
    ("prompts/get", "GetPromptResult"),
    ("completion/complete", "CompleteResult"),
];

/// What the server sends of its own accord.
const SAID: [(&str, &str); 9] = [
    ("sampling/createMessage", "CreateMessageRequest"),
    ("elicitation/create", "ElicitRequest"),
    ("roots/list", "ListRootsRequest"),
    ("notifications/progress", "ProgressNotification"),
    ("notifications/message", "LoggingMessageNotification"),
    ("notifications/resources/updated", "ResourceUpdatedNotification"),
    ("notifications/tools/list_changed", "ToolListChangedNotification"),
    ("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification"),
    ("notifications/cancelled", "CancelledNotification"),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[tokio::test]
async fn every_message_fits_the_schema_of_its_revision() {
    let mut problems = Vec::new();
    for transcript in Transcript::all(&folder("transcripts")) {
        let schema = Schema::read(transcript.revision());
        for (definition, value) in said(&transcript.replay().await.spoken) {
            problems.extend(schema.problems(&definition, &value));
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[tokio::test]
async fn an_independent_model_reads_every_message() {
    let mut problems = Vec::new();
    for transcript in Transcript::all(&folder("transcripts")) {
        if transcript.revision() == "2026-07-28" {
            for (definition, value) in said(&transcript.replay().await.spoken) {
                problems.extend(read(&definition, &value).err());
            }
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Reads a value as the model's type of that name.
fn read(definition: &str, value: &Value) -> Result<(), String> {
    macro_rules! read {
        ($($name:literal => $type:ident),* $(,)?) => {
            match definition {
                $($name => serde_json::from_value::<rust_mcp_schema::$type>(value.clone()).map(drop),)*
                other => panic!("the table lacks `{other}`"),
            }
        };
    }
    let read = read! {
        "error" => JsonrpcErrorResponse,
        "DiscoverResult" => DiscoverResult,
        "SubscriptionsListenResult" => SubscriptionsListenResult,
        "InputRequiredResult" => InputRequiredResult,
        "ListToolsResult" => ListToolsResult,
        "CallToolResult" => CallToolResult,
        "ListResourcesResult" => ListResourcesResult,
        "ListResourceTemplatesResult" => ListResourceTemplatesResult,
        "ReadResourceResult" => ReadResourceResult,
        "ListPromptsResult" => ListPromptsResult,
        "GetPromptResult" => GetPromptResult,
        "CompleteResult" => CompleteResult,
        "ProgressNotification" => ProgressNotification,
        "LoggingMessageNotification" => LoggingMessageNotification,
        "ResourceUpdatedNotification" => ResourceUpdatedNotification,
        "ToolListChangedNotification" => ToolListChangedNotification,
        "SubscriptionsAcknowledgedNotification" => SubscriptionsAcknowledgedNotification,
    };
    read.map_err(|error| format!("{definition}: {error} in {value}"))
}

/// What the server said, each with the name of its definition: whole messages where the server
/// speaks of its own accord, the result alone where it answers.
fn said(spoken: &[Spoken]) -> Vec<(String, Value)> {
    let (mut asked, mut said) = (HashMap::new(), Vec::new());
    for spoken in spoken {
        match spoken {
            Spoken::Client(text) => {
                for message in messages(serde_json::from_str(text).unwrap_or_default()) {
                    if let Some(method) = message["method"].as_str() {
                        asked.insert(message["id"].to_string(), method.to_owned());
                    }
                }
            }
            Spoken::Server(value) => {
                for message in messages(value.clone()).into_iter().filter(Value::is_object) {
                    said.push(name(&asked, message));
                }
            }
        }
    }
    said
}

/// The messages of a batch, or the one that there is.
fn messages(value: Value) -> Vec<Value> {
    match value {
        Value::Array(messages) => messages,
        message => vec![message],
    }
}

fn name(asked: &HashMap<String, String>, message: Value) -> (String, Value) {
    if let Some(method) = message["method"].as_str() {
        return (find(&SAID, method), message);
    }
    if message.get("error").is_some() {
        return ("error".to_owned(), message);
    }
    let result = message["result"].clone();
    if result["resultType"] == "input_required" {
        return ("InputRequiredResult".to_owned(), result);
    }
    (find(&RESULTS, &asked[&message["id"].to_string()]), result)
}

fn find(table: &[(&str, &str)], method: &str) -> String {
    let found = table.iter().find(|(it, _)| *it == method);
    let (_, definition) = found.unwrap_or_else(|| panic!("the table lacks `{method}`"));
    (*definition).to_owned()
}

/// The schema of one revision.
struct Schema {
    revision: String,
    /// Where it keeps its definitions.
    place: &'static str,
    whole: Value,
}

impl Schema {
    fn read(revision: &str) -> Self {
        let path = folder("schemas").join(format!("{revision}.json"));
        let whole: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let place = if whole.get("$defs").is_some() { "$defs" } else { "definitions" };
        Self { revision: revision.to_owned(), place, whole }
    }

    fn problems(&self, definition: &str, value: &Value) -> Vec<String> {
        if definition == "error" {
            return self.problems_of_error(value);
        }
        let mut schema = self.whole.clone();
        schema["$ref"] = json!(format!("#/{}/{definition}", self.place));
        let validator = match jsonschema::validator_for(&schema) {
            Ok(validator) => validator,
            Err(error) => return vec![format!("{}: {definition}: {error}", self.revision)],
        };
        let tell = |error| format!("{}: {definition}: {error} in {value}", self.revision);
        validator.iter_errors(value).map(tell).collect()
    }

    /// The older schemas want an id even where none could be read; there it is null.
    fn problems_of_error(&self, value: &Value) -> Vec<String> {
        let old = self.whole[self.place].get("JSONRPCError").is_some();
        let mut value = value.clone();
        if old && value.get("id") == Some(&Value::Null) {
            value["id"] = json!(0);
        }
        self.problems(if old { "JSONRPCError" } else { "JSONRPCErrorResponse" }, &value)
    }
}
