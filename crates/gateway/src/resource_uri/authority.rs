//! The part of a URI that names a host, for the schemes in which it is one. There are many ways to
//! write a host; those that are the same by the standards get one form, and others are refused.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::UnsafeUri;

const FILE: &str = "file";

/// The schemes with a host, and its usual port.
const SCHEMES: [(&str, &str); 6] =
    [(FILE, ""), ("http", "80"), ("https", "443"), ("ws", "80"), ("wss", "443"), ("ftp", "21")];

/// The parts of an authority.
struct Authority<'a> {
    user: Option<&'a str>,
    host: &'a str,
    port: &'a str,
}

/// Refuses an authority that some readers take for another one.
pub(super) fn check(uri: &str) -> Result<(), UnsafeUri> {
    let Some((scheme, rest)) = known(uri) else { return Ok(()) };
    let rest = rest.strip_prefix("//").ok_or(UnsafeUri::NoAuthority)?;
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // Some readers go on to what follows the separator, some look for the host before it.
    if scheme == FILE {
        return match authority.contains(['@', '%']) || path.starts_with('\\') {
            true => Err(UnsafeUri::OddHost),
            false => Ok(()),
        };
    }
    let parts = Authority::read(authority);
    match parts.host {
        "" => Err(UnsafeUri::NoAuthority),
        _ if parts.user.is_some() => Err(UnsafeUri::UserInformation),
        _ if path.starts_with('\\') || !parts.is_clear() => Err(UnsafeUri::OddHost),
        _ => Ok(()),
    }
}

/// Refuses the host of a file that the template does not name itself.
pub(super) fn check_host(uri: &str, template: &str) -> Result<(), UnsafeUri> {
    let Some((FILE, rest)) = known(uri) else { return Ok(()) };
    let of_template = known(template).map_or("", |(_, rest)| rest);
    let host = rest.strip_prefix("//").unwrap_or(rest);
    let host = host.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let is_named = !host.is_empty()
        && of_template.strip_prefix("//").is_some_and(|it| it.starts_with(&format!("{host}/")));
    match host.is_empty() || is_named {
        true => Ok(()),
        false => Err(UnsafeUri::HostOfFile),
    }
}

/// Scheme and authority in one form. Patterns are brought into it too, so that a `*` may stand
/// anywhere.
pub(super) fn normalize(scheme: &str, rest: &str) -> String {
    let known = SCHEMES.iter().find(|(known, _)| *known == scheme);
    let (Some((_, usual)), Some(authority)) = (known, rest.strip_prefix("//")) else {
        return format!("{scheme}:{rest}");
    };
    let Authority { user, host, port } = Authority::read(authority);
    let host = host.to_ascii_lowercase();
    let host = host.trim_end_matches('.');
    let host = match host.trim_matches(['[', ']']).parse::<Ipv6Addr>() {
        Ok(address) if host.starts_with('[') => format!("[{address}]"),
        _ => host.to_owned(),
    };
    let host = if scheme == FILE && host == "localhost" { String::new() } else { host };
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let port = match port {
        "" => String::new(),
        port if port == *usual => String::new(),
        port => format!(":{port}"),
    };
    format!("{scheme}://{user}{host}{port}")
}

/// Whether a head, the scheme and authority of a URI, is in the one form for certain.
pub(super) fn is_plain(head: &str) -> bool {
    let Some((_, rest)) = known(head) else { return true };
    let odd = |it: char| it == ':' || it == '[';
    let authority = rest.strip_prefix("//").unwrap_or_default();
    !authority.contains(odd) && !authority.ends_with('.') && authority != "localhost"
}

/// A scheme that has a host, and what follows it.
fn known(uri: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let known = SCHEMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(scheme))?;
    Some((known.0, rest))
}

impl<'a> Authority<'a> {
    fn read(text: &'a str) -> Self {
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        // The colons of an address in brackets are its own.
        let behind = place.rfind(']').map_or(0, |end| end + 1);
        let (host, port) = match place[behind..].find(':') {
            Some(colon) => (&place[..behind + colon], &place[behind + colon + 1..]),
            None => (place, ""),
        };
        Self { user, host, port }
    }

    /// Whether everyone reads the same host: no other alphabet, no encoding, and an address only as
    /// it is usually written. `127.1` and `2130706433` are `127.0.0.1` to many.
    fn is_clear(&self) -> bool {
        let is_port = self.port.bytes().all(|it| it.is_ascii_digit())
            && (self.port.len() < 2 || !self.port.starts_with('0'));
        let host = self.host.strip_suffix('.').unwrap_or(self.host);
        if let Some(address) = host.strip_prefix('[') {
            let address = address.strip_suffix(']').and_then(|it| it.parse::<Ipv6Addr>().ok());
            // One of these is the address behind it by another name.
            return is_port && address.is_some_and(|it| it.to_ipv4_mapped().is_none());
        }
        let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-._~".contains(&it);
        let last = host.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().next().is_some_and(|it| it.is_ascii_digit())
            && (last.bytes().all(|it| it.is_ascii_digit()) || last.starts_with("0x"));
        is_port
            && !host.ends_with('.')
            && host.bytes().all(is_letter)
            && (!is_number || host.parse::<Ipv4Addr>().is_ok())
    }
}
