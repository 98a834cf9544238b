//! A client's declared capabilities, read from raw JSON and kept as raw JSON.

use crate::json::RawJson;

/// The extension for calls that run as tasks (2026-07-28).
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The capabilities of either side with that extension among them.
pub fn with_tasks(capabilities: &RawJson) -> RawJson {
    let extensions = capabilities.get("extensions").unwrap_or(RawJson::EMPTY_OBJECT);
    let extensions = extensions.edit().set(TASKS, RawJson::EMPTY_OBJECT).apply();
    capabilities.edit().set("extensions", extensions).apply()
}

/// A client's capabilities in the newest form: the few that decide something, and all of them raw.
#[derive(Debug, Clone)]
pub struct ClientCapabilities {
    /// Answers `roots/list`.
    pub roots: bool,
    /// Answers `sampling/createMessage`.
    pub sampling: bool,
    /// May be given tools for sampling.
    pub sampling_tools: bool,
    /// Shows forms.
    pub elicitation_form: bool,
    /// Sends the user to URLs.
    pub elicitation_url: bool,
    /// Takes content blocks of type `json`.
    pub json_content: bool,
    /// Takes a task in place of a tool's result.
    pub tasks: bool,
    /// The whole object as it came.
    pub raw: RawJson,
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self::read(RawJson::EMPTY_OBJECT)
    }
}

impl ClientCapabilities {
    /// Reads a capabilities object.
    ///
    /// ```
    /// use gantry_protocol::{ClientCapabilities, RawJson};
    /// let read = |text| ClientCapabilities::read(RawJson::from_static(text));
    /// assert!(read(r#"{"elicitation":{}}"#).elicitation_form);
    /// assert!(!read(r#"{"elicitation":{"url":{}}}"#).elicitation_form);
    /// ```
    pub fn read(raw: RawJson) -> Self {
        let mut read = Self {
            roots: false,
            sampling: false,
            sampling_tools: false,
            elicitation_form: false,
            elicitation_url: false,
            json_content: false,
            tasks: false,
            raw: RawJson::EMPTY_OBJECT,
        };
        for member in raw.members() {
            let value = member.value();
            if !value.is_object() {
                continue;
            }
            match &*member.key_bytes() {
                b"roots" => read.roots = true,
                b"sampling" => {
                    read.sampling = true;
                    read.sampling_tools = value.get("tools").is_some();
                }
                b"elicitation" => {
                    read.elicitation_url = value.get("url").is_some();
                    // An empty object means forms, as it did before URLs existed.
                    read.elicitation_form = value.get("form").is_some() || !read.elicitation_url;
                }
                b"extensions" => {
                    read.tasks = value.get(TASKS).is_some_and(|settings| settings.is_object());
                }
                b"experimental" => {
                    read.json_content = value.get("jsonContent").is_some_and(|it| !it.is_null());
                }
                _ => {}
            }
        }
        read.raw = raw;
        read
    }

    /// The same client, which takes tasks.
    ///
    /// ```
    /// use gantry_protocol::{ClientCapabilities, RawJson};
    /// let client = ClientCapabilities::read(RawJson::from_static(r#"{"roots":{}}"#)).with_tasks();
    /// assert!(client.tasks && client.roots && client.extension("io.modelcontextprotocol/tasks").is_some());
    /// ```
    #[must_use]
    pub fn with_tasks(&self) -> Self {
        Self::read(with_tasks(&self.raw))
    }

    /// The settings of an extension, when the client declares it.
    pub fn extension(&self, name: &str) -> Option<RawJson> {
        self.raw.get("extensions")?.get(name)
    }
}
