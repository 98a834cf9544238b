//! How a server is to be treated: its names, its tools, its times.

use std::time::Duration;

use gantry_client::{Era, Settings, Start};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_providers::units;
use gantry_providers::upstreams::{Override, Share, UpstreamConfig};

use crate::config::ConfigError;
use crate::config::dialect::timeout_in_seconds;
use crate::config::entry::Entry;
use crate::config::servers::texts;

const TIME: &str = "milliseconds, or \"30s\"";

/// The most attempts, and the most calls that wait for one.
const MOST: u32 = 1000;

/// Numbers below this are more likely seconds than milliseconds.
const SHORT: Duration = Duration::from_millis(500);

pub(crate) fn read(entry: &Entry<'_>, server: &mut UpstreamConfig) -> Result<(), ConfigError> {
    let flag = |key| entry.reader.value(&entry.value, key, "true or false", RawJson::read::<bool>);
    server.disabled = flag("disabled")?.unwrap_or(false) || !flag("enabled")?.unwrap_or(true);
    server.task = flag("task")?.unwrap_or(false);
    server.prefix = prefix(entry)?;
    tools(entry, server)?;
    server.share = choice(entry, &["share"], "process, user or session", |word| match word {
        "process" => Some(Share::Process),
        "user" => Some(Share::User),
        "session" => Some(Share::Session),
        _ => None,
    })?
    .unwrap_or_default();
    let client = &mut server.client;
    client.era =
        choice(entry, &["era", "protocolEra"], "auto, modern or legacy", |word| match word {
            "auto" => Some(Era::Auto),
            "modern" => Some(Era::Modern),
            "legacy" => Some(Era::Legacy),
            _ => None,
        })?
        .unwrap_or_default();
    client.start = choice(entry, &["start"], "eager or lazy", |word| match word {
        "eager" => Some(Start::Eager),
        "lazy" => Some(Start::Lazy),
        _ => None,
    })?
    .unwrap_or_default();
    times(entry, server)?;
    server.client.roots = roots(entry)?;
    Ok(())
}

fn choice<T>(
    entry: &Entry<'_>,
    keys: &[&str],
    expected: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    let Some((key, value)) = entry.first(keys) else { return Ok(None) };
    let read = value.to_text().and_then(|word| read(&word));
    read.map(Some).ok_or_else(|| entry.form(&value, key, expected))
}

fn prefix(entry: &Entry<'_>) -> Result<Option<String>, ConfigError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let read = |value: &RawJson| value.to_text().filter(|it| it.chars().all(is_plain));
    let expected = "letters, digits, `-`, `_` and `.`; \"\" for none";
    entry.reader.value(&entry.value, "prefix", expected, read)
}

/// Which tools are offered, and what is said of them.
fn tools(entry: &Entry<'_>, server: &mut UpstreamConfig) -> Result<(), ConfigError> {
    let lists = |keys: &[&str]| -> Result<Vec<String>, ConfigError> {
        let mut all = Vec::new();
        for key in keys {
            all.extend(texts(entry.reader, &entry.value, key)?.unwrap_or_default());
        }
        Ok(all)
    };
    server.include = lists(&["include", "includeTools", "enabled_tools"])?;
    server.exclude = lists(&["exclude", "excludeTools", "disabledTools", "disabled_tools"])?;
    filter(entry, server)?;
    let Some(tools) = entry.value.get("tools") else { return Ok(()) };
    match tools.kind() {
        JsonKind::Array => server.include.extend(lists(&["tools"])?),
        JsonKind::Object => {
            for member in tools.members() {
                let said = override_of(entry, &member.key(), &member.value())?;
                server.overrides.insert(member.key().into_owned(), said);
            }
        }
        _ => return Err(entry.form(&tools, "tools", "an object: {\"NAME\": {\"title\": \"…\"}}")),
    }
    Ok(())
}

/// What another program calls `options.toolFilter`: a list of tools, and whether it lets them pass or
/// holds them back.
fn filter(entry: &Entry<'_>, server: &mut UpstreamConfig) -> Result<(), ConfigError> {
    let filter = entry.value.at(&["options", "toolFilter"]).filter(|it| !it.is_null());
    let Some(filter) = filter else { return Ok(()) };
    let expected = "{\"mode\": \"allow\" or \"block\", \"list\": [\"TOOL\"]}";
    let mode = filter.get("mode").and_then(|mode| mode.to_text()).map(|mode| mode.to_lowercase());
    let list = filter.get("list").and_then(|list| list.read::<Vec<String>>());
    match (mode.as_deref(), list) {
        (Some("allow"), Some(list)) => server.include.extend(list),
        (Some("block"), Some(list)) => server.exclude.extend(list),
        _ => return Err(entry.form(&filter, "toolFilter", expected)),
    }
    Ok(())
}

fn override_of(entry: &Entry<'_>, tool: &str, value: &RawJson) -> Result<Override, ConfigError> {
    if !value.is_object() {
        return Err(entry.form(value, tool, "an object with `title`, `description` or `task`"));
    }
    if entry.is_strict {
        entry.reader.check_keys(value, &["title", "description", "task"], &[])?;
    }
    let text = |key| entry.reader.value(value, key, "a text", RawJson::to_text);
    let task = entry.reader.value(value, "task", "true or false", RawJson::read::<bool>)?;
    Ok(Override { title: text("title")?, description: text("description")?, task })
}

fn times(entry: &Entry<'_>, server: &mut UpstreamConfig) -> Result<(), ConfigError> {
    let time = |key| entry.reader.value(&entry.value, key, TIME, units::duration);
    server.refresh = time("refresh")?;
    let client = &mut server.client;
    let seconds = |key| entry.reader.value(&entry.value, key, "a number of seconds", seconds);
    let in_seconds = timeout_in_seconds(&entry.reader.source.file, &entry.value)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let request = match in_seconds {
        Some(request) => Some(request),
        None => time("timeout")?.or(time("requestTimeout")?),
    };
    if let Some((key, value)) = entry.first(&["timeout", "requestTimeout"])
        && value.kind() == JsonKind::Number
        && request.is_some_and(|it| it < SHORT)
    {
        let place = entry.reader.place(&value);
        let name = entry.name;
        entry.reader.load_state.warn(format!(
            "{place}: `{key}` of the server `{name}` is read as {value} milliseconds; \
             write \"{value}s\" for seconds"
        ));
    }
    if let Some(silence) = request.or(seconds("tool_timeout_sec")?) {
        client.silence = silence;
        client.at_most = client.at_most.max(silence);
    }
    let startup = seconds("startup_timeout_sec")?.or(time("startup_timeout_ms")?);
    client.connect_within = startup.unwrap_or(client.connect_within);
    client.idle = time("idle")?;
    client.lifetime = time("lifetime")?;
    retry(entry, client)?;
    let Some(restart) = entry.value.get("restart") else { return Ok(()) };
    if !restart.is_object() {
        let expected = "an object: {\"first\": \"250ms\", \"atMost\": \"30s\"}";
        return Err(entry.form(&restart, "restart", expected));
    }
    if entry.is_strict {
        entry.reader.check_keys(&restart, &["first", "atMost"], &[])?;
    }
    let wait = |key| entry.reader.value(&restart, key, TIME, units::duration);
    client.backoff.first = wait("first")?.unwrap_or(client.backoff.first);
    client.backoff.at_most = wait("atMost")?.unwrap_or(client.backoff.at_most);
    Ok(())
}

/// How calls are made again that failed for a reason that may pass.
fn retry(entry: &Entry<'_>, client: &mut Settings) -> Result<(), ConfigError> {
    let Some(said) = entry.value.get("retry") else { return Ok(()) };
    let retry = &mut client.retry;
    if said.read::<bool>() == Some(false) {
        retry.attempts = 1;
        return Ok(());
    }
    if !said.is_object() {
        return Err(entry.form(&said, "retry", "false, or an object: {\"attempts\": 4}"));
    }
    if entry.is_strict {
        let keys = ["attempts", "first", "atMost", "retryAfter", "waiting"];
        entry.reader.check_keys(&said, &keys, &[])?;
    }
    let count = |key| {
        let read = |value: &RawJson| value.read::<u32>().filter(|it| (1..=MOST).contains(it));
        entry.reader.value(&said, key, "a whole number from 1 to 1000", read)
    };
    let wait = |key| entry.reader.value(&said, key, TIME, units::duration);
    retry.attempts = count("attempts")?.unwrap_or(retry.attempts);
    retry.waiting = count("waiting")?.map_or(retry.waiting, |it| it as usize);
    retry.backoff.first = wait("first")?.unwrap_or(retry.backoff.first);
    retry.backoff.at_most = wait("atMost")?.unwrap_or(retry.backoff.at_most);
    retry.retry_after = wait("retryAfter")?.unwrap_or(retry.retry_after);
    Ok(())
}

fn seconds(value: &RawJson) -> Option<Duration> {
    let seconds = value.read::<f64>().filter(|it| *it > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The answer to `roots/list`: folders as the server may see them.
fn roots(entry: &Entry<'_>) -> Result<Option<RawJson>, ConfigError> {
    const EXPECTED: &str = "a list of paths or addresses, such as [\"./src\"]";
    let Some(value) = entry.value.get("roots") else { return Ok(None) };
    if value.kind() != JsonKind::Array {
        return Err(entry.form(&value, "roots", EXPECTED));
    }
    let mut roots = Vec::new();
    for element in value.elements() {
        let (place, name) = match element.get("uri") {
            Some(uri) => (uri, element.get("name").and_then(|name| name.to_text())),
            None => (element, None),
        };
        let place = entry.reader.expanded(&place, "roots", EXPECTED)?;
        let uri = match place.contains("://") {
            true => place,
            false => file_uri(&entry.reader.path(&place).to_string_lossy()),
        };
        roots.push(ObjectWriter::new().value("uri", &uri).value_some("name", name).finish());
    }
    Ok(Some(ObjectWriter::new().array("roots", &roots).finish()))
}

fn file_uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        match is_plain(byte) {
            true => uri.push(char::from(byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
