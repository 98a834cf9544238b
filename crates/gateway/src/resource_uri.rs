//! The URIs of resources: spellings that are refused because a server may read them as another
//! address than a policy does, and the one form in which policies compare the rest.

mod authority;

use std::borrow::Cow;

/// How often a percent-encoding may be encoded again before the URI is refused for that alone.
const ENCODINGS: usize = 4;

/// Why a URI that no server lists is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeUri {
    /// A segment of its path is `.` or `..`, perhaps percent-encoded.
    #[error("its path has a dot segment (`.` or `..`)")]
    DotSegment,
    /// A `/` or `\` in its path is percent-encoded, perhaps more than once.
    #[error("its path has a percent-encoded `/` or `\\`")]
    EncodedSeparator,
    /// It has a control character, which some readers leave out.
    #[error("it has a control character")]
    ControlCharacter,
    /// Its scheme has an authority, which it leaves out or writes as some readers do not.
    #[error("its scheme must be followed by `//`, and by a host unless that is `file`")]
    NoAuthority,
    /// It names a host that its template does not name, and servers pass over.
    #[error("it names a host, which most servers pass over; write `file:///`")]
    HostOfFile,
    /// There is something before its host.
    #[error("it has a user or a password before its host")]
    UserInformation,
    /// Its host can be read as another one.
    #[error("its host is not in the form that all readers understand alike")]
    OddHost,
    /// Its percent-encoding is itself encoded more often than anyone needs.
    #[error("it is percent-encoded more than {ENCODINGS} times")]
    Nested,
}

/// Whether a URI has one meaning only. What stands behind `?` or `#` is no path, and may be
/// anything that can be seen.
pub fn check(uri: &str) -> Result<(), UnsafeUri> {
    if uri.chars().any(char::is_control) {
        return Err(UnsafeUri::ControlCharacter);
    }
    authority::check(uri)?;
    let (head, path, _) = parts(uri);
    // For a scheme of its own a server may take the authority for the beginning of the path.
    let authority = head.split_once("://").map_or("", |(_, authority)| authority);
    let mut text: Cow<'_, [u8]> = match authority {
        "" => Cow::Borrowed(path.as_bytes()),
        authority => Cow::Owned([authority.as_bytes(), path.as_bytes()].concat()),
    };
    check_segments(&text)?;
    for _ in 0..ENCODINGS {
        let Some(decoded) = decode(&text) else { return Ok(()) };
        let separators = |text: &[u8]| text.iter().filter(|byte| is_separator(**byte)).count();
        if decoded.contains(&0) {
            return Err(UnsafeUri::ControlCharacter);
        }
        check_segments(&decoded)?;
        // 0xC0 and 0xC1 begin overlong forms of ASCII, separators among them, and nothing valid.
        if separators(&decoded) > separators(&text) || decoded.iter().any(|it| it | 1 == 0xC1) {
            return Err(UnsafeUri::EncodedSeparator);
        }
        text = Cow::Owned(decoded);
    }
    decode(&text).map_or(Ok(()), |_| Err(UnsafeUri::Nested))
}

/// The form in which URIs, and patterns of URIs, are compared: the scheme in small letters,
/// unreserved characters not encoded, no dot segments, and one `/` where several are or a `\` is.
pub fn normalize(uri: &str) -> Cow<'_, str> {
    if is_plain(uri) {
        return Cow::Borrowed(uri);
    }
    let (head, path, tail) = parts(uri);
    let mut normal = match head.split_once(':') {
        // One `/` is as good as three.
        Some((scheme, "")) if scheme.eq_ignore_ascii_case("file") && path.starts_with('/') => {
            "file://".to_owned()
        }
        Some((scheme, rest)) => authority::normalize(&scheme.to_ascii_lowercase(), &unescape(rest)),
        None => head.to_owned(),
    };
    normalize_path(path, &mut normal);
    normal.push_str(&unescape(tail));
    Cow::Owned(normal)
}

/// The address of which this one may be another name: without what stands behind `?` or `#`, without
/// parameters of its last segment, and without a `/` at its end, since servers that look for a file
/// leave out any of these. None if it has none of them. The URI must be in its normal form.
pub fn without_ending(normal: &str) -> Option<&str> {
    let (head, path, _) = parts(normal);
    let last = path.rfind('/').map_or(0, |slash| slash + 1);
    let end = path[last..].find(';').map_or(path.len(), |at| last + at);
    let path = path[..end].trim_end_matches('/');
    let whole = head.len() + path.len();
    (whole < normal.len() && !path.is_empty()).then(|| &normal[..whole])
}

/// Whether a URI that a template covers names a host of its own, where servers read a path alone.
pub fn check_host(uri: &str, template: &str) -> Result<(), UnsafeUri> {
    authority::check_host(uri, template)
}

/// Whether a URI is in its normal form for certain, as nearly all are.
fn is_plain(uri: &str) -> bool {
    let (head, path, _) = parts(uri);
    let is_odd = |byte: u8| byte == b'%' || byte == b'\\';
    let is_short = head == "file:" && path.starts_with('/');
    !is_short
        && !uri.bytes().any(is_odd)
        && authority::is_plain(head)
        && !head.bytes().any(|byte| byte.is_ascii_uppercase())
        && !path.contains("//")
        && !path.split('/').any(|segment| segment == "." || segment == "..")
}

/// Scheme and authority, path, and all from `?` or `#` on. Patterns are taken apart in the same
/// way, and may have a `*` anywhere.
fn parts(uri: &str) -> (&str, &str, &str) {
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let (uri, tail) = uri.split_at(end);
    let head = match uri.find(':').filter(|colon| !uri[..*colon].contains(['/', '\\'])) {
        None => 0,
        Some(colon) => match uri[colon + 1..].strip_prefix("//") {
            None => colon + 1,
            Some(rest) => uri.len() - rest.len() + rest.find(['/', '\\']).unwrap_or(rest.len()),
        },
    };
    let (head, path) = uri.split_at(head);
    (head, path, tail)
}

fn normalize_path(path: &str, out: &mut String) {
    let mut segments: Vec<Cow<'_, str>> = Vec::new();
    let mut is_open = false;
    for segment in path.split(['/', '\\']) {
        let segment = unescape(segment);
        is_open = matches!(&*segment, "" | "." | "..");
        match &*segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    if path.starts_with(['/', '\\']) {
        out.push('/');
    }
    out.push_str(&segments.join("/"));
    if is_open && !segments.is_empty() {
        out.push('/');
    }
}

/// A text in which unreserved characters are not encoded and all others are in one way (RFC 3986,
/// 6.2.2). `*` is reserved, so that no name becomes a pattern.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let code = match after.as_bytes() {
            [high, low, ..] => byte(*high, *low),
            _ => None,
        };
        match code {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
            }
            Some(byte) => out.push_str(&format!("%{byte:02X}")),
            // Left as it is, it could begin an encoding with what is decoded behind it.
            None => out.push_str("%25"),
        }
        // Two hexadecimal digits are two bytes.
        rest = if code.is_some() { &after[2..] } else { after };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What percent-encodings stand for; none if there are none.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(sign) = text.get(at) {
        let encoded = match text.get(at + 1..at + 3) {
            Some([high, low]) if *sign == b'%' => byte(*high, *low),
            _ => None,
        };
        decoded.push(encoded.unwrap_or(*sign));
        at += if encoded.is_some() { 3 } else { 1 };
    }
    (decoded.len() < text.len()).then_some(decoded)
}

fn byte(high: u8, low: u8) -> Option<u8> {
    let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

fn check_segments(text: &[u8]) -> Result<(), UnsafeUri> {
    let mut segments = text.split(|byte| is_separator(*byte));
    // Some readers drop what stands behind a `;`, a parameter of the segment.
    let name = |segment: &'_ [u8]| {
        let end = segment.iter().position(|byte| *byte == b';').unwrap_or(segment.len());
        matches!(&segment[..end], b"." | b"..")
    };
    match segments.any(name) {
        true => Err(UnsafeUri::DotSegment),
        false => Ok(()),
    }
}

fn is_separator(byte: u8) -> bool {
    byte == b'/' || byte == b'\\'
}

#[cfg(test)]
mod tests;
