//! The other form of a plan: whole requests under `tool_calls`. What one depends on stands among its
//! arguments, and `<ID response>` stands for the text of an answer.

use std::collections::HashMap;

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, JsonLimits, ObjectWriter};

use super::reference::is_in_id;
use crate::error::CallError;

/// The member that such a plan has.
const REQUESTS: &str = "tool_calls";
/// What stands around the id of an answer.
const ANSWER: [&str; 2] = ["<", " response>"];

/// Where the text of each answer stands, by its id.
type Texts<'a> = HashMap<&'a str, &'static str>;

/// One request of such a plan.
struct Request {
    id: String,
    params: RawJson,
    is_tool: bool,
}

/// A plan as calls, whichever form it has.
pub fn in_calls(plan: &RawJson) -> Result<RawJson, CallError> {
    let Some(written) = plan.get(REQUESTS).filter(|_| plan.get("calls").is_none()) else {
        return Ok(plan.clone());
    };
    let requests: Vec<Request> = written
        .elements()
        .enumerate()
        .map(|(place, request)| Request::read(&request, place))
        .collect::<Result<_, _>>()?;
    let texts = requests.iter().map(|request| (request.id.as_str(), request.text())).collect();
    let calls: Vec<RawJson> =
        requests.iter().map(|request| request.to_call(&texts)).collect::<Result<_, _>>()?;
    let on_error = plan.get("onError");
    let plan = ObjectWriter::new().raw("calls", &RawJson::array(&calls));
    Ok(plan.raw_some("onError", on_error.as_ref()).finish())
}

impl Request {
    fn read(written: &RawJson, place: usize) -> Result<Self, CallError> {
        let wrong = |what: &str| {
            let text = format!("request {} of `{REQUESTS}` {what}", place + 1);
            CallError::invalid_params(text)
        };
        let (request, is_tool) = match (written.get("tool_call"), written.get("resource_call")) {
            (Some(request), None) => (request, true),
            (None, Some(request)) => (request, false),
            _ => return Err(wrong("must be a `tool_call` or a `resource_call`")),
        };
        let id = request.get("id").ok_or_else(|| wrong("must have an `id`"))?;
        let id = match id.kind() {
            JsonKind::Number => id.as_str().to_owned(),
            _ => id.to_text().ok_or_else(|| wrong("must have an `id` that is a string"))?,
        };
        let params = request.get("params").ok_or_else(|| wrong("must have `params`"))?;
        Ok(Self { id, params, is_tool })
    }

    fn to_call(&self, texts: &Texts<'_>) -> Result<RawJson, CallError> {
        let call = ObjectWriter::new().value("id", &self.id);
        if !self.is_tool {
            return Ok(call.raw_some("uri", self.params.get("uri").as_ref()).finish());
        }
        let name = self.params.get("tool_name").or_else(|| self.params.get("name"));
        let arguments = self.params.get("arguments").unwrap_or(RawJson::EMPTY_OBJECT);
        let after = arguments.get("depends").map(|depends| match depends.kind() {
            JsonKind::Array => depends,
            _ => RawJson::array([&depends]),
        });
        let arguments = referring(&arguments.edit().remove("depends").apply(), texts)?;
        let call = call.raw_some("name", name.as_ref()).raw("arguments", &arguments);
        Ok(call.raw_some("after", after.as_ref()).finish())
    }

    /// Where the text of the answer stands.
    fn text(&self) -> &'static str {
        if self.is_tool { "/content/0/text" } else { "/contents/0/text" }
    }
}

/// The arguments with references as calls write them. The signs that change can stand only within
/// strings, and need no escape there.
fn referring(arguments: &RawJson, texts: &Texts<'_>) -> Result<RawJson, CallError> {
    let [open, close] = ANSWER;
    let (mut text, mut rest) = (String::new(), arguments.as_str());
    while let Some((before, after)) = rest.split_once(open) {
        text.push_str(before);
        let (id, behind) = after.split_at(after.find(|it| !is_in_id(it)).unwrap_or(after.len()));
        rest = match (texts.get(id), behind.strip_prefix(close)) {
            (Some(place), Some(rest)) => {
                text.push_str(&format!("${{{id}.{place}}}"));
                rest
            }
            _ => {
                text.push_str(open);
                after
            }
        };
    }
    text.push_str(rest);
    RawJson::parse(text, JsonLimits::default())
        .map_err(|error| CallError::invalid_params(error.to_string()))
}
