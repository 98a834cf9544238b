//! What handlers return: content and tool results.

use gantry_gateway::Reply;
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failure;

/// The result of a tool, block by block.
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    content: Vec<Content>,
    structured: Option<RawJson>,
    is_error: bool,
    meta: Option<RawJson>,
}

/// What a tool's handler may return.
pub trait ToolOutput {
    /// The schema of the structured result, when there is one.
    fn schema() -> Option<serde_json::Value> {
        None
    }

    /// The reply.
    fn into_reply(self) -> Result<Reply, Failure>;
}

/// A structured result, with its schema and a text form for clients that know no other.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

impl ToolResult {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// A result of one text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::new().with(Content::text(text))
    }

    /// Adds a block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Adds a structured value.
    #[must_use]
    pub fn structured(mut self, value: RawJson) -> Self {
        self.structured = Some(value);
        self
    }

    /// Marks the result as an error that the model should see.
    #[must_use]
    pub fn error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// Adds metadata.
    #[must_use]
    pub fn meta(mut self, meta: RawJson) -> Self {
        self.meta = Some(meta);
        self
    }

    fn to_json(&self) -> RawJson {
        ObjectWriter::with_capacity(256)
            .array("content", self.content.iter().map(Content::as_json))
            .raw_some("structuredContent", self.structured.as_ref())
            .value_some("isError", self.is_error.then_some(true))
            .raw_some("_meta", self.meta.as_ref())
            .value("resultType", "complete")
            .finish()
    }
}

impl ToolOutput for ToolResult {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(Reply::result(self.to_json()))
    }
}

impl ToolOutput for Reply {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self)
    }
}

impl ToolOutput for String {
    fn into_reply(self) -> Result<Reply, Failure> {
        ToolResult::text(self).into_reply()
    }
}

impl ToolOutput for &str {
    fn into_reply(self) -> Result<Reply, Failure> {
        ToolResult::text(self).into_reply()
    }
}

impl ToolOutput for () {
    fn into_reply(self) -> Result<Reply, Failure> {
        ToolResult::text("done").into_reply()
    }
}

impl ToolOutput for Content {
    fn into_reply(self) -> Result<Reply, Failure> {
        ToolResult::new().with(self).into_reply()
    }
}

impl<T: Serialize + JsonSchema> ToolOutput for Json<T> {
    fn schema() -> Option<serde_json::Value> {
        Some(schemars::schema_for!(T).to_value())
    }

    fn into_reply(self) -> Result<Reply, Failure> {
        let value = RawJson::of(&self.0)?;
        ToolResult::text(value.as_str()).structured(value.clone()).into_reply()
    }
}

/// One block of content.
#[derive(Debug, Clone)]
pub struct Content(RawJson);

impl Content {
    /// Text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self(block("text").value("text", text.as_ref()).finish())
    }

    /// An image, its data in base64.
    pub fn image(data: &str, mime_type: &str) -> Self {
        Self(block("image").value("data", data).value("mimeType", mime_type).finish())
    }

    /// Sound, its data in base64.
    pub fn audio(data: &str, mime_type: &str) -> Self {
        Self(block("audio").value("data", data).value("mimeType", mime_type).finish())
    }

    /// A resource with its content.
    pub fn resource(contents: &ResourceContents, uri: &str) -> Self {
        Self(block("resource").raw("resource", &contents.to_json(uri)).finish())
    }

    /// A link to a resource.
    pub fn link(uri: &str, name: &str) -> Self {
        Self(block("resource_link").value("uri", uri).value("name", name).finish())
    }

    /// A block of any other kind.
    pub fn raw(block: RawJson) -> Self {
        Self(block)
    }

    /// The block as JSON.
    pub fn as_json(&self) -> &RawJson {
        &self.0
    }
}

fn block(kind: &str) -> ObjectWriter {
    ObjectWriter::new().value("type", kind)
}

impl<T: AsRef<str>> From<T> for Content {
    fn from(text: T) -> Self {
        Self::text(text)
    }
}

/// The content of a resource.
#[derive(Debug, Clone)]
pub struct ResourceContents {
    mime_type: Option<String>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Text(String),
    Blob(String),
}

impl ResourceContents {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { mime_type: None, body: Body::Text(text.into()) }
    }

    /// Bytes, in base64.
    pub fn blob(base64: impl Into<String>) -> Self {
        Self { mime_type: None, body: Body::Blob(base64.into()) }
    }

    /// Says what kind of content it is.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    pub(super) fn or_mime_type(mut self, mime_type: Option<&str>) -> Self {
        self.mime_type = self.mime_type.or_else(|| mime_type.map(str::to_owned));
        self
    }

    pub(super) fn to_json(&self, uri: &str) -> RawJson {
        let head =
            ObjectWriter::new().value("uri", uri).value_some("mimeType", self.mime_type.as_deref());
        match &self.body {
            Body::Text(text) => head.value("text", text).finish(),
            Body::Blob(blob) => head.value("blob", blob).finish(),
        }
    }
}

impl From<String> for ResourceContents {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ResourceContents {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
