//! Content: what tools, prompts and resources give.

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

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
