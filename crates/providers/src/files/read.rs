//! Reading a file as a resource: text where it is text, else base64; a range where the URI asks for one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gantry_files::{Contents, FileError, ReadRange, RelativePath, Root};
use gantry_gateway::{CallError, ErrorKind, Outcome, Reply};
use gantry_protocol::json::ObjectWriter;

use super::entry;

/// The `_meta` key that says which version and which bytes a result has.
const META: &str = "gantry/file";
/// How a range is asked for, behind `#` at the end of a URI.
const RANGE: &str = "bytes=";

/// Reads a file. `uri` is the one that the client asked for, with a range or without.
pub(super) fn read(root: &Root, path: &RelativePath, uri: &str, limit: u64) -> Outcome {
    let range = range(uri)?;
    let contents = root.read(path, range, limit).map_err(|error| failed(&error, uri, limit))?;
    let Contents { bytes, status, version, start } = contents;
    let end = start + bytes.len() as u64;
    let mime_type = entry::mime_type(path.as_path());
    let file = ObjectWriter::new()
        .value("version", &version.as_str())
        .value("size", &status.size)
        .value("lastModified", &entry::modified(&status))
        .value_some("start", range.map(|_| start))
        .value_some("end", range.map(|_| end))
        .finish();
    let item = ObjectWriter::new().value("uri", &uri);
    let item = match text(bytes) {
        Ok(text) => item.value("mimeType", &mime_type.unwrap_or("text/plain")).value("text", &text),
        Err(bytes) => item
            .value("mimeType", &mime_type.unwrap_or("application/octet-stream"))
            .value("blob", &STANDARD.encode(bytes)),
    };
    let item = item.raw("_meta", &ObjectWriter::new().raw(META, &file).finish()).finish();
    Ok(Reply::result(ObjectWriter::new().array("contents", [&item]).finish()))
}

/// The error for a URI that names no file.
pub(super) fn not_found(uri: &str) -> CallError {
    CallError::new(ErrorKind::ResourceNotFound, format!("there is no file `{uri}`"))
}

/// UTF-8 without NUL is text, whatever the name says; the name alone does not make a file text.
fn text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if bytes.contains(&0) {
        return Err(bytes);
    }
    String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
}

/// The range that a URI asks for: `#bytes=START-END`, END included and optional, as in HTTP.
fn range(uri: &str) -> Result<Option<ReadRange>, CallError> {
    let Some((_, fragment)) = uri.split_once('#') else { return Ok(None) };
    let read = || {
        let (start, end) = fragment.strip_prefix(RANGE)?.split_once('-')?;
        let start = start.parse().ok()?;
        let end = match end {
            "" => None,
            end => Some(end.parse::<u64>().ok()?.checked_add(1)?),
        };
        (end.is_none_or(|end| end > start)).then_some(ReadRange { start, end })
    };
    let wrong = "a range of bytes is written `#bytes=START-END`, for example `#bytes=0-65535`";
    read().map(Some).ok_or_else(|| CallError::invalid_params(wrong))
}

fn failed(error: &FileError, uri: &str, limit: u64) -> CallError {
    let kind = match error {
        FileError::NotFound
        | FileError::Outside
        | FileError::NotAFolder
        | FileError::NameTooLong => ErrorKind::ResourceNotFound,
        FileError::NotAFile(_) | FileError::TooLarge { .. } | FileError::Range { .. } => {
            ErrorKind::InvalidParams
        }
        _ => ErrorKind::Unavailable,
    };
    let advice = match error {
        FileError::TooLarge { .. } => {
            let last = limit.saturating_sub(1);
            format!(
                " (such as `#bytes=0-{last}` at the end of the URI), or raise `resources.maxRead`"
            )
        }
        _ => String::new(),
    };
    CallError::new(kind, format!("`{uri}`: {error}{advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let cases = [
            ("file:///a", Some(None)),
            ("file:///a#bytes=0-9", Some(Some((0, Some(10))))),
            ("file:///a#bytes=5-", Some(Some((5, None)))),
            ("file:///a#bytes=7-7", Some(Some((7, Some(8))))),
            ("file:///a#bytes=7-6", None),
            ("file:///a#bytes=-6", None),
            ("file:///a#bytes=a-b", None),
            ("file:///a#bytes=0-18446744073709551615", None),
            ("file:///a#line=3", None),
        ];
        for (uri, expected) in cases {
            let found = range(uri).ok().map(|it| it.map(|it| (it.start, it.end)));
            assert_eq!(found, expected, "{uri}");
        }
    }

    #[test]
    fn text_is_what_reads_as_text() {
        let cases: [(&[u8], bool); 5] = [
            (b"plain", true),
            ("größe".as_bytes(), true),
            (b"", true),
            (b"a\0b", false),
            (b"\xff\xfe", false),
        ];
        for (bytes, expected) in cases {
            assert_eq!(text(bytes.to_vec()).is_ok(), expected, "{bytes:?}");
        }
    }
}
