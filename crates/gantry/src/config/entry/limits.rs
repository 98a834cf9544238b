//! `limits` of a server's entry: how much of what the server lists and says is taken.

use gantry_protocol::RawJson;
use gantry_providers::units;
use gantry_providers::upstreams::UpstreamConfig;

use super::super::ConfigError;
use super::Entry;

const KEYS: [&str; 10] = [
    "items",
    "definition",
    "definitions",
    "page",
    "batch",
    "messages",
    "stderr",
    "disconnectAfter",
    "validation",
    "templates",
];
const SIZE: &str = "bytes, or a text such as \"64KiB\"";
const NUMBER: &str = "a number above zero";

pub(super) fn read(entry: &Entry<'_>, server: &mut UpstreamConfig) -> Result<(), ConfigError> {
    let Some(value) = entry.value.get("limits") else { return Ok(()) };
    if !value.is_object() {
        return Err(entry.form(&value, "limits", "an object: {\"definition\": \"64KiB\"}"));
    }
    if entry.is_strict {
        entry.reader.check_keys(&value, &KEYS, &[])?;
    }
    let reader = entry.reader;
    let bytes = |key| {
        let read = reader.value(&value, key, SIZE, units::size)?;
        Ok::<_, ConfigError>(read.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))
    };
    let number = |key| reader.value(&value, key, NUMBER, above_zero);
    let client = &mut server.client;
    set(&mut client.lists.items, number("items")?);
    set(&mut client.lists.definition, bytes("definition")?);
    set(&mut client.lists.total, bytes("definitions")?);
    set(&mut client.lists.page, bytes("page")?);
    set(&mut client.batch, number("batch")?);
    set(&mut client.flood.messages, reader.value(&value, "messages", NUMBER, above_zero)?);
    let stderr = bytes("stderr")?.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    set(&mut client.flood.stderr, stderr);
    let time = "milliseconds, or \"30s\"";
    let after = reader.value(&value, "disconnectAfter", time, units::duration)?;
    set(&mut client.flood.disconnect_after, after);
    server.validation = number("validation")?.or(server.validation);
    set(&mut server.templates, bytes("templates")?);
    Ok(())
}

fn above_zero<T>(value: &RawJson) -> Option<T>
where
    T: serde::de::DeserializeOwned + PartialOrd + Default,
{
    value.read().filter(|number: &T| *number > T::default())
}

fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}
