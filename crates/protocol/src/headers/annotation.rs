//! `x-mcp-header` annotations in a tool's input schema: which arguments have a header.

use super::PARAM_PREFIX;
use crate::json::{JsonKind, RawJson};

const ANNOTATION: &str = "x-mcp-header";

/// Headers of one tool. Each is looked for in the arguments of every call.
const HEADERS: usize = 64;

/// Bytes of the paths to the arguments of one tool that have headers.
const PATHS: usize = 64 * 1024;

/// An argument that a header repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// The header's whole name in lower case.
    pub header: String,
    /// The path of the argument, from the outermost name inwards.
    pub path: Vec<String>,
    /// What kind of value it is.
    pub kind: HeaderKind,
}

/// The kinds of value that a header may repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JSON Schema's own")]
pub enum HeaderKind {
    String,
    Integer,
    Boolean,
}

/// An annotation that makes the tool unusable over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderAnnotationError {
    /// Not a text that can be part of a header's name.
    #[error(
        "`x-mcp-header` of `{argument}` is {annotation}; expected letters, digits, or signs like `-`"
    )]
    Name {
        /// The argument's path, joined by dots.
        argument: String,
        /// The annotation as JSON.
        annotation: RawJson,
    },
    /// The same header twice.
    #[error(
        "`x-mcp-header` of `{argument}` names the header `{header}` of another argument; expected one of its own"
    )]
    Taken {
        /// The argument's path, joined by dots.
        argument: String,
        /// The header's whole name.
        header: String,
    },
    /// On an argument of another type.
    #[error(
        "`x-mcp-header` of `{argument}` is on a schema that is not of type string, integer or boolean"
    )]
    Kind {
        /// The argument's path, joined by dots.
        argument: String,
    },
    /// More headers, or longer paths to their arguments, than a request can have.
    #[error(
        "`x-mcp-header` is there for more than {HEADERS} arguments, or for some whose paths have \
         more than {PATHS} bytes together"
    )]
    TooMany,
    /// Where not every call has the argument in one known place.
    #[error(
        "`x-mcp-header` stands under `{keyword}`; expected it where only `properties` lead to it"
    )]
    Place {
        /// The keyword in the way.
        keyword: String,
    },
}

/// The arguments of a tool that have a header, from its input schema.
///
/// ```
/// use gantry_protocol::{RawJson, headers::argument_headers};
/// let schema = RawJson::from_static(
///     r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
/// );
/// assert_eq!(argument_headers(&schema).unwrap()[0].header, "mcp-param-region");
/// ```
pub fn argument_headers(input_schema: &RawJson) -> Result<Vec<HeaderParam>, HeaderAnnotationError> {
    let mut found = Vec::new();
    if may_hold_annotation(input_schema) {
        Walk { found: &mut found, path: Vec::new(), bytes: 0 }.schema(input_schema)?;
    }
    Ok(found)
}

/// Most schemas have none, and a text search is much faster than a walk.
fn may_hold_annotation(schema: &RawJson) -> bool {
    let text = schema.bytes();
    memchr::memmem::find(text, ANNOTATION.as_bytes()).is_some()
        || memchr::memchr(b'\\', text).is_some()
}

struct Walk<'a> {
    found: &'a mut Vec<HeaderParam>,
    path: Vec<String>,
    /// Bytes of the paths in what was found.
    bytes: usize,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &RawJson) -> Result<(), HeaderAnnotationError> {
        if let Some(annotation) = schema.get(ANNOTATION) {
            self.annotated(schema, &annotation)?;
        }
        for member in schema.members() {
            let (keyword, value) = (member.key(), member.value());
            if keyword == "properties" {
                for property in value.members() {
                    self.path.push(property.key().into_owned());
                    self.schema(&property.value())?;
                    self.path.pop();
                }
            } else if holds_annotation(&keyword, &value) {
                return Err(HeaderAnnotationError::Place { keyword: keyword.into_owned() });
            }
        }
        Ok(())
    }

    fn annotated(
        &mut self,
        schema: &RawJson,
        annotation: &RawJson,
    ) -> Result<(), HeaderAnnotationError> {
        let argument = self.path.join(".");
        let kind = match schema.get("type").and_then(|kind| kind.to_text()).as_deref() {
            _ if self.path.is_empty() => return Err(HeaderAnnotationError::Kind { argument }),
            Some("string") => HeaderKind::String,
            Some("integer") => HeaderKind::Integer,
            Some("boolean") => HeaderKind::Boolean,
            _ => return Err(HeaderAnnotationError::Kind { argument }),
        };
        let Some(name) = annotation.to_text().filter(|name| is_token(name)) else {
            return Err(HeaderAnnotationError::Name { argument, annotation: annotation.clone() });
        };
        let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
        if self.found.iter().any(|other| other.header == header) {
            return Err(HeaderAnnotationError::Taken { argument, header });
        }
        self.bytes += argument.len();
        if self.found.len() >= HEADERS || self.bytes > PATHS {
            return Err(HeaderAnnotationError::TooMany);
        }
        self.found.push(HeaderParam { header, path: self.path.clone(), kind });
        Ok(())
    }
}

/// Whether the value of a keyword other than `properties` holds an annotation. Names in a
/// map of schemas are not keywords, and values are not schemas.
fn holds_annotation(keyword: &str, value: &RawJson) -> bool {
    match keyword {
        "const" | "enum" | "default" | "examples" => false,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => value.members().any(|it| is_annotated_within(&it.value())),
        _ => is_annotated_within(value),
    }
}

fn is_annotated_within(schema: &RawJson) -> bool {
    match schema.kind() {
        JsonKind::Array => schema.elements().any(|element| is_annotated_within(&element)),
        JsonKind::Object => schema.members().any(|member| {
            member.is(ANNOTATION) || holds_annotation(&member.key(), &member.value())
        }),
        _ => false,
    }
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token_byte)
}
