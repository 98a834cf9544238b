//! `allowedHosts` and `allowedOrigins`: names of this gateway beside those of the machine, such as
//! one that a proxy gives it.

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;
use gantry_server::AllowedHosts;

use crate::config::ConfigError;
use crate::config::read::Reader;

const HOSTS: &str = "a list of host names, each with or without a port, such as [\"gantry.local\"]";
const ORIGINS: &str = "a list of origins, such as [\"https://app.example\"]";

pub(crate) fn read(reader: &Reader<'_>, document: &RawJson) -> Result<AllowedHosts, ConfigError> {
    Ok(AllowedHosts {
        hosts: list(reader, document, "allowedHosts", HOSTS, is_host)?,
        origins: list(reader, document, "allowedOrigins", ORIGINS, is_origin)?,
    })
}

fn list(
    reader: &Reader<'_>,
    document: &RawJson,
    key: &str,
    expected: &'static str,
    is_right: impl Fn(&str) -> bool,
) -> Result<Vec<String>, ConfigError> {
    let Some(value) = document.get(key) else { return Ok(Vec::new()) };
    if value.kind() != JsonKind::Array {
        return Err(reader.form(&value, key, expected));
    }
    let one = |item: RawJson| match reader.expanded(&item, key, expected) {
        Ok(text) if !is_right(&text) => Err(reader.form(&item, key, expected)),
        read => read,
    };
    value.elements().map(one).collect()
}

/// Whether a text is `name`, `name:port`, or the same with an address. There are no patterns: a
/// name that anyone can have made for an address of theirs must not be let in by mistake.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (is_sixth(address), rest),
        None => {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (is_name(name), rest)
        }
    };
    name && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Whether a text is `scheme://host` or `scheme://host:port`, as a browser writes it.
fn is_origin(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_lowercase())
            && scheme.bytes().all(|it| {
                it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'+' | b'-' | b'.')
            })
    };
    text.split_once("://").is_some_and(|(scheme, host)| {
        is_scheme(scheme) && is_host(host) && !host.bytes().any(|it| it.is_ascii_uppercase())
    })
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

fn is_sixth(address: &str) -> bool {
    address.parse::<std::net::Ipv6Addr>().is_ok()
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_read_strictly() {
        let cases = [
            ("gantry.local", true),
            ("Gantry.Local", true),
            ("gantry.local:8443", true),
            ("gantry", true),
            ("10.0.0.7:80", true),
            ("[2001:db8::1]", true),
            ("[2001:db8::1]:443", true),
            ("2001:db8::1", false),
            ("[2001:db8::1", false),
            ("[gantry]", false),
            ("*", false),
            ("*.local", false),
            ("gantry.local.", false),
            ("a..b", false),
            ("", false),
            ("gantry.local:", false),
            ("gantry.local:0", false),
            ("gantry.local:65536", false),
            ("gantry.local:+80", false),
            ("gantry.local/mcp", false),
            ("user@gantry.local", false),
            ("http://gantry.local", false),
            ("gantry local", false),
            ("gäntry.local", false),
        ];
        for (host, expected) in cases {
            assert_eq!(is_host(host), expected, "{host}");
            let origin = format!("https://{host}");
            let is_lower = !host.bytes().any(|it| it.is_ascii_uppercase());
            assert_eq!(is_origin(&origin), expected && is_lower, "{origin}");
        }
        let more = [
            ("vscode-webview://abc", true),
            ("null", false),
            ("*", false),
            ("HTTPS://a.example", false),
            ("https://a.example/", false),
            ("://a.example", false),
            ("1://a.example", false),
        ];
        for (origin, expected) in more {
            assert_eq!(is_origin(origin), expected, "{origin}");
        }
    }
}
