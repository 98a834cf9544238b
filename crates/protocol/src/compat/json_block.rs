//! The content block of type `json`. No revision knows it; clients that ask for it get it.

use super::array;
use super::content::{CONTENT, STRUCTURED, block_type};
use crate::json::RawJson;

const JSON: RawJson = RawJson::from_static("\"json\"");

/// The result of `tools/call`, lowered already, with a block of type `json` in the place of the
/// text that is nothing but the structured content of `original`. Any other block stays.
///
/// ```
/// use gantry_protocol::{RawJson, compat};
/// let wrapped = r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#;
/// let result = RawJson::from_static(wrapped);
/// let content = compat::with_json_block(&result, &result).get("content").unwrap();
/// assert_eq!(content.as_str(), r#"[{"type":"json","json":{"a":1}}]"#);
/// ```
pub fn with_json_block(original: &RawJson, lowered: &RawJson) -> RawJson {
    let (Some(value), Some(content)) = (original.get(STRUCTURED), lowered.get(CONTENT)) else {
        return lowered.clone();
    };
    let text = value.compact();
    let replaced = array::map(&content, |block| {
        let is_text = block_type(block).as_deref() == Some("text");
        let shown = block.get("text").filter(|_| is_text)?.to_text()?;
        let same = shown == text.as_str() || value.to_text().is_some_and(|value| value == shown);
        let edit = block.edit().set("type", JSON).remove("text").set("json", value.clone());
        same.then(|| edit.apply())
    });
    lowered.edit().set_some(CONTENT, replaced).apply()
}
