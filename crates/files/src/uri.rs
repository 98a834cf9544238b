//! `file:` URIs of files below a root.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::path::{PathError, RelativePath};

/// Why a URI names no file below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// It is of another scheme or host.
    #[error("it is not a `file:///` URI")]
    NotAFile,
    /// It names something outside.
    #[error("it does not lie below this root")]
    Elsewhere,
    /// A percent sign without two hexadecimal digits.
    #[error("it has a `%` that is not followed by two hexadecimal digits")]
    Encoding,
    /// A separator or NUL in encoded form.
    #[error("it has a percent-encoded `/`, `\\` or NUL")]
    EncodedSeparator,
    /// Its path is none.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The URI of a file below a root.
pub fn file_uri(root: &Path, path: &RelativePath) -> String {
    let mut uri = String::from("file://");
    encode(root.as_os_str().as_bytes(), &mut uri);
    if !uri.ends_with('/') {
        uri.push('/');
    }
    encode(path.as_bytes(), &mut uri);
    uri
}

/// The file below a root that a URI names. The path is decoded once: what it then contains is a name.
pub fn path_of_uri(root: &Path, uri: &str) -> Result<RelativePath, UriError> {
    let (scheme, rest) = uri.split_once("://").ok_or(UriError::NotAFile)?;
    if !scheme.eq_ignore_ascii_case("file") || !rest.starts_with('/') {
        return Err(UriError::NotAFile);
    }
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let decoded = decode(path)?;
    let mut below = decoded.strip_prefix(root.as_os_str().as_bytes()).ok_or(UriError::Elsewhere)?;
    if root != Path::new("/") {
        below = below.strip_prefix(b"/").ok_or(UriError::Elsewhere)?;
    }
    Ok(RelativePath::new(OsString::from_vec(below.to_vec()))?)
}

fn decode(path: &str) -> Result<Vec<u8>, UriError> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(UriError::Encoding);
        };
        match u8::try_from(high * 16 + low) {
            Ok(b'/' | b'\\' | 0) | Err(_) => return Err(UriError::EncodedSeparator),
            Ok(byte) => decoded.push(byte),
        }
    }
    Ok(decoded)
}

fn encode(path: &[u8], uri: &mut String) {
    for byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
}
