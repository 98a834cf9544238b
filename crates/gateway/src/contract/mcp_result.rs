//! A tool result as the result of `tools/call`, and back.
//!
//! `structuredContent` is the data, and text blocks render it; what else the contract says is in
//! `_meta`. A result that is more than that, blocks of other kinds for example, is carried whole:
//! its data is `{"content":[…]}`, with `structuredContent` beside it if there was any.

use gantry_protocol::json::{FlatJson, ObjectWriter};
use gantry_protocol::{JsonLimits, RawJson};

use super::error_type::ErrorType;
use super::tool_result::ToolResult;
use super::{ContractError, Status};
use crate::error::{CallError, ErrorKind};
use crate::error_detail::ErrorDetail;
use crate::provider::{Outcome, Reply};

const META: &str = "_meta";
pub(crate) const ERROR_META: &str = "gantry/error";
/// Only where `isError` does not say it, or where there is no data on purpose.
const STATUS: &str = "gantry/status";
const EXPLANATION: &str = "gantry/explanation";
/// An object of the keys that the contract does not know.
const FURTHER: &str = "gantry/further";
const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";

impl ToolResult {
    /// What a call came to. Every failure is a result here.
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let fail = |text: &str| {
            Self::failure(ErrorDetail::new(ErrorType::ToolExecutionError, text.to_owned()))
        };
        match outcome {
            Ok(Reply::Result(result)) => Self::from_call_result(result),
            Ok(Reply::InputRequired(_)) => {
                fail("the tool asks for input, which this caller cannot give; call it over MCP")
            }
            Ok(Reply::Page(_)) => fail("a list is not the result of a tool"),
            Err(error) => Self::failure(ErrorDetail::from(error)),
        }
    }

    /// The result of `tools/call` that says the same.
    pub fn to_call_result(&self) -> RawJson {
        let (content, structured) = match self.data.as_ref().and_then(|data| self.whole(data)) {
            Some(whole) => whole,
            None => (self.rendering(), self.data.clone()),
        };
        ObjectWriter::with_capacity(256)
            .array(CONTENT, &content)
            .raw_some(STRUCTURED, structured.as_ref())
            .value("isError", &(self.status == Status::Failure))
            .raw_some(META, self.meta().as_ref())
            .finish()
    }

    /// Reads the result of a `tools/call`, of a tool that knows the contract or of any other.
    pub fn from_call_result(result: &RawJson) -> Self {
        let meta = result.get(META).unwrap_or(RawJson::NULL);
        let content: Vec<_> = result.get(CONTENT).iter().flat_map(RawJson::elements).collect();
        let structured = result.get(STRUCTURED).filter(|value| !value.is_null());
        let error = meta.get(ERROR_META).and_then(|error| ErrorDetail::read(&error).ok());
        let explanation = meta.get(EXPLANATION).and_then(|it| it.to_text());
        let status = meta.get(STATUS).and_then(|it| Status::read(&it)).unwrap_or(Status::Success);
        let is_error = result.get("isError").is_some_and(|flag| flag.as_str() == "true");
        let read = Self { status, data: None, error, explanation, further: None };
        let further = meta.get(FURTHER);
        // What breaks the rules has no place in a tool result, and must not take it down.
        let kept = further.and_then(|further| read.clone().with_further(&further).ok());
        let read = kept.unwrap_or(read);
        if is_error || status == Status::Failure {
            let error = Some(failure(read.error, &content, structured.as_ref()));
            return Self { status: Status::Failure, error, ..read };
        }
        let texts = texts(&content);
        let has_status = meta.get(STATUS).is_some();
        let is_filler = |value: &RawJson| has_status && *value == RawJson::EMPTY_OBJECT;
        match structured {
            None if texts.as_ref() == Some(&read.texts()) => read,
            Some(value) if is_filler(&value) && texts.as_ref() == Some(&read.texts()) => read,
            Some(data) if data.is_object() && texts.is_some() => {
                let explanation = read.explanation.clone();
                let explanation = explanation.or_else(|| read.beside(&data, &texts?));
                Self { data: Some(data.compact()), explanation, ..read }
            }
            structured => {
                let data = carried(&content, structured.as_ref()).compact();
                Self { data: Some(data), ..read }
            }
        }
    }

    /// Content and structured content, when the data is a result that is carried whole: one that
    /// [`ToolResult::from_call_result`] would read as this very data.
    fn whole(&self, data: &RawJson) -> Option<(Vec<RawJson>, Option<RawJson>)> {
        if data.members().any(|member| !member.is(CONTENT) && !member.is(STRUCTURED)) {
            return None;
        }
        let structured = data.get(STRUCTURED);
        let list = data.get(CONTENT)?;
        let content: Vec<_> = list.elements().collect();
        let typed = |block: &RawJson| block.get("type").is_some_and(|it| it.to_text().is_some());
        if carried(&content, structured.as_ref()) != *data || !content.iter().all(typed) {
            return None;
        }
        let texts = texts(&content);
        let fits = match &structured {
            None => texts != Some(Self { data: None, ..self.clone() }.texts()),
            Some(value) if value.is_null() => false,
            Some(value) => !value.is_object() || texts.is_none(),
        };
        fits.then_some((content, structured))
    }

    /// What text blocks say of this result: models read nothing else.
    fn texts(&self) -> Vec<String> {
        let data = self.data.as_ref().map(ToString::to_string);
        let error = self.error.as_ref().map(|error| error.error_message.clone());
        data.into_iter().chain(error).chain(self.explanation.clone()).collect()
    }

    fn rendering(&self) -> Vec<RawJson> {
        let block = |text: &String| ObjectWriter::new().value("type", "text").value("text", text);
        self.texts().iter().map(|text| block(text).finish()).collect()
    }

    /// What the text blocks beside `data` say that is said nowhere else.
    fn beside(&self, data: &RawJson, texts: &[String]) -> Option<String> {
        let error = self.error.as_ref().map(|error| &error.error_message);
        let data = Rendered::of(data);
        let more = texts.iter().filter(|text| Some(*text) != error && !data.is_said_by(text));
        let more: Vec<&str> = more.map(String::as_str).collect();
        (!more.is_empty()).then(|| more.join("\n"))
    }

    fn meta(&self) -> Option<RawJson> {
        let status = match self.status {
            Status::Failure => None,
            // That there is no data is no mistake, and an output schema is not broken by it.
            Status::Success if self.data.is_some() => None,
            status => Some(status.as_str()),
        };
        let meta = ObjectWriter::new()
            .value_some(ERROR_META, self.error.as_ref())
            .value_some(STATUS, status)
            .value_some(EXPLANATION, self.explanation.as_ref())
            .raw_some(FURTHER, self.further.as_ref())
            .finish();
        (meta != RawJson::EMPTY_OBJECT).then_some(meta)
    }
}

/// Whether a result that is no failure says in the words of the contract that it has no data.
pub(crate) fn states_no_data(result: &RawJson) -> bool {
    let status = result.at(&[META, STATUS]).and_then(|it| Status::read(&it));
    status.is_some_and(|status| status != Status::Failure)
        && ToolResult::from_call_result(result).data.is_none()
}

/// The detail of a failed result; of a tool that gives none, what its text says.
fn failure(
    error: Option<ErrorDetail>,
    content: &[RawJson],
    structured: Option<&RawJson>,
) -> ErrorDetail {
    let failed = |text| ErrorDetail::new(ErrorType::ToolExecutionError, text);
    match (error, structured) {
        (Some(error), None) => error,
        (Some(error), Some(_)) => {
            let said = error.error_message;
            let text = format!("{}; the tool said: {said}", ContractError::FailureWithData);
            ErrorDetail::from(&CallError::new(ErrorKind::BrokenContract, text))
        }
        (None, structured) => {
            let said: Vec<_> = content.iter().filter_map(text).collect();
            let detail = match said.is_empty() {
                true => failed("the tool failed and did not say why".to_owned()),
                false => failed(said.join("\n")),
            };
            match structured.is_some() || said.len() < content.len() {
                true => detail.with_details(&carried(content, structured)),
                false => detail,
            }
        }
    }
}

fn carried(content: &[RawJson], structured: Option<&RawJson>) -> RawJson {
    ObjectWriter::with_capacity(256)
        .array(CONTENT, content)
        .raw_some(STRUCTURED, structured)
        .finish()
}

/// What blocks say, when all of them are text or a value that is written as text as well.
fn texts(content: &[RawJson]) -> Option<Vec<String>> {
    content.iter().map(text).collect()
}

fn text(block: &RawJson) -> Option<String> {
    match block.get("type")?.to_text()?.as_str() {
        "text" => block.get("text")?.to_text(),
        "json" => Some(block.get("json")?.compact().to_string()),
        _ => None,
    }
}

/// So many bytes of a value may stand for one byte of a text that says the same: `\u0041` for `A`,
/// and a little more for numbers.
const SPELLING: usize = 8;

/// A value that texts are compared with. A server chooses how many there are, so that a look at the
/// whole value for each of them would take the product of both.
struct Rendered {
    compact: RawJson,
    /// None for a value that no text says in other words.
    index: Option<FlatJson>,
}

impl Rendered {
    fn of(value: &RawJson) -> Self {
        let compact = value.compact();
        Self { index: FlatJson::new(&compact).ok(), compact }
    }

    /// Whether a text is this value, which may have been written again on its way.
    fn is_said_by(&self, text: &str) -> bool {
        if text == self.compact.as_str() {
            return true;
        }
        // Only so few texts are long enough that looking at the value for each of them is linear in
        // all texts together.
        let is_possible = text.len().saturating_mul(SPELLING) >= self.compact.bytes().len()
            && text.trim_start().starts_with('{');
        let Some(index) = self.index.as_ref().filter(|_| is_possible) else { return false };
        let read = RawJson::parse(text.to_owned(), JsonLimits::default());
        let read = read.ok().and_then(|it| FlatJson::new(&it).ok());
        read.is_some_and(|it| it.root().equals(index.root(), |one, other| one == other))
    }
}
