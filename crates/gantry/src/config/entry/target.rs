//! Where a server is: a program, or an address with its headers.

use gantry_client::{Endpoint, HttpKind, Secret, Target};
use gantry_protocol::RawJson;
use http::{HeaderName, HeaderValue, Uri};

use super::super::{ConfigError, ValueError};
use super::{Entry, program};

/// What an entry says of the way to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Web,
    Streamable,
    Events,
    WebSocket,
}

const ADDRESSES: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// Words for the way to a server, in the order in which they are believed.
const KINDS: [&str; 4] = ["type", "transport", "transportType", "protocol"];

pub(super) fn read(entry: &Entry<'_>) -> Result<Target, ConfigError> {
    let command = entry.value.get("command");
    let address = entry.first(&ADDRESSES);
    match (kind(entry)?, command, address) {
        (Some(Kind::Program) | None, Some(command), None)
        | (Some(Kind::Program), Some(command), Some(_)) => {
            Ok(Target::Program(program::read(entry, &command)?))
        }
        (Some(Kind::Program), None, _) => Err(entry.fault("has no `command`; say what to start")),
        (Some(kind), _, Some((key, url))) => web(entry, kind, key, &url),
        (None, None, Some((key, url))) => {
            let kind = if key == "httpUrl" { Kind::Streamable } else { Kind::Web };
            web(entry, kind, key, &url)
        }
        (Some(_), _, None) => Err(entry.fault("has no `url`; say where it is")),
        (None, Some(_), Some(_)) => {
            Err(entry.fault("has both `command` and `url`; keep one, or add `type`"))
        }
        (None, None, None) => Err(entry.fault("has neither `command` nor `url`; add one of them")),
    }
}

fn kind(entry: &Entry<'_>) -> Result<Option<Kind>, ConfigError> {
    const EXPECTED: &str = "stdio, http, streamable-http, sse or websocket";
    let Some((key, value)) = entry.first(&KINDS) else { return Ok(None) };
    let word = value.to_text().ok_or_else(|| entry.form(&value, key, EXPECTED))?;
    match word.as_str() {
        "stdio" | "local" => Ok(Some(Kind::Program)),
        "http" => Ok(Some(Kind::Web)),
        "streamable-http" | "streamableHttp" | "streamable_http" => Ok(Some(Kind::Streamable)),
        "sse" => Ok(Some(Kind::Events)),
        "ws" | "websocket" => Ok(Some(Kind::WebSocket)),
        "remote" | "auto" => Ok(None),
        _ => Err(entry.form(&value, key, EXPECTED)),
    }
}

fn web(entry: &Entry<'_>, kind: Kind, key: &str, value: &RawJson) -> Result<Target, ConfigError> {
    const EXPECTED: &str = "an address such as \"https://example.com/mcp\"";
    let text = entry.reader.expanded(value, key, EXPECTED)?;
    let url: Uri = text.parse().map_err(|_| entry.form(value, key, EXPECTED))?;
    if url.scheme().is_none() || url.authority().is_none() {
        return Err(entry.form(value, key, EXPECTED));
    }
    let endpoint = Endpoint { headers: headers(entry)?, ..Endpoint::new(url) };
    let kind = match (kind, endpoint.url.scheme_str().unwrap_or_default()) {
        (Kind::Web | Kind::WebSocket, "ws" | "wss") => return Ok(Target::WebSocket(endpoint)),
        (Kind::Web, "http" | "https") => HttpKind::Auto,
        (Kind::Streamable, "http" | "https") => HttpKind::Streamable,
        (Kind::Events, "http" | "https") => HttpKind::Events,
        (Kind::WebSocket, _) => {
            return Err(entry.form(value, key, "an address with ws:// or wss://"));
        }
        _ => return Err(entry.form(value, key, "an address with http:// or https://")),
    };
    Ok(Target::Http(endpoint, kind))
}

/// The headers of every request, from all the words there are for them.
fn headers(entry: &Entry<'_>) -> Result<Vec<(String, Secret)>, ConfigError> {
    let mut headers = Vec::new();
    for key in ["headers", "http_headers"] {
        for (name, text) in entry.pairs(key)? {
            headers.extend(text.map(|text| (key, name, text)));
        }
    }
    for (name, variable) in entry.pairs("env_http_headers")? {
        let Some(variable) = variable else { continue };
        let text = of_variable(entry, "env_http_headers", &variable)?;
        headers.push(("env_http_headers", name, text));
    }
    if let Some(value) = entry.value.get("bearer_token_env_var") {
        let key = "bearer_token_env_var";
        let variable = entry.reader.expanded(&value, key, "the name of a variable")?;
        let token = of_variable(entry, key, &variable)?;
        headers.push((key, "Authorization".to_owned(), format!("Bearer {token}")));
    }
    let checked = |(key, name, text): (&str, String, String)| {
        let is_right =
            HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(&text).is_ok();
        let value = entry.value.get(key).unwrap_or_else(|| entry.value.clone());
        let wrong = || entry.form(&value, &format!("{key}.{name}"), "a header that HTTP allows");
        if is_right { Ok((name, Secret::new(text))) } else { Err(wrong()) }
    };
    headers.into_iter().map(checked).collect()
}

fn of_variable(entry: &Entry<'_>, key: &str, variable: &str) -> Result<String, ConfigError> {
    let value = entry.value.get(key).unwrap_or_else(|| entry.value.clone());
    let found = (entry.reader.environment)(variable).ok_or_else(|| ConfigError::Value {
        place: entry.reader.place(&value),
        key: key.to_owned(),
        error: ValueError::Unset(variable.to_owned()),
    })?;
    entry.reader.load_state.keep_secret(&found);
    Ok(found)
}
