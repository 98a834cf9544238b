//! The keys that an entry may have.

use super::super::ConfigError;
use super::Entry;

/// Keys that mean something here.
const OURS: &[&str] = &[
    "command", "args", "env", "cwd", "envFile", "url", "headers", "type", "enabled", "disabled",
    "timeout", "prefix", "include", "exclude", "tools", "task", "share", "era", "start", "idle",
    "lifetime", "refresh", "restart", "retry", "roots", "limits", "name",
];

/// Words of other programs for the same things.
const THEIRS: &[&str] = &[
    "environment",
    "httpUrl",
    "serverUrl",
    "transport",
    "transportType",
    "protocol",
    "protocolEra",
    "requestTimeout",
    "includeTools",
    "excludeTools",
    "disabledTools",
    "enabled_tools",
    "disabled_tools",
    "options",
    "env_vars",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
];

/// Keys of other programs that are known and mean nothing here.
const WITHOUT_MEANING: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "auth",
    "authProviderType",
    "dev",
    "debug",
    "description",
    "displayName",
    "experimental_environment",
    "default_tools_approval_mode",
    "gallery",
    "group",
    "icon",
    "id",
    "isActive",
    "isolation",
    "metadata",
    "note",
    "oauth",
    "oauth_resource",
    "registryUrl",
    "required",
    "sandbox",
    "sandboxEnabled",
    "scopes",
    "settings",
    "source",
    "startup",
    "supports_parallel_tool_calls",
    "tags",
    "targetAudience",
    "title",
    "trust",
    "version",
];

/// Lets the keys of an entry pass, and notes those without a meaning.
pub(super) fn check(entry: &Entry<'_>) -> Result<(), ConfigError> {
    let mut seen: Vec<String> = Vec::new();
    for member in entry.value.members() {
        let (key, value) = (member.key().into_owned(), member.value());
        let place = || entry.reader.source.place_of_key(&key, &value);
        if entry.is_strict && seen.contains(&key) {
            return Err(ConfigError::Doubled { place: place(), key });
        }
        // Keys such as `_comment` and `//` are how plain JSON is commented.
        let is_comment = key.starts_with(['_', '/', '#', '$']);
        if OURS.contains(&&*key) || THEIRS.contains(&&*key) {
            seen.push(key);
        } else if entry.is_strict && !is_comment && !WITHOUT_MEANING.contains(&&*key) {
            return Err(entry.reader.unknown_key(&key, &value, OURS, THEIRS));
        } else {
            let name = entry.name;
            let text = format!("{}: `{key}` of the server `{name}` means nothing here", place());
            entry.reader.load_state.note(text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{OURS, THEIRS, WITHOUT_MEANING};
    use crate::config::SCHEMA;

    #[test]
    fn the_schema_has_every_key() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
        let keys = schema["$defs"]["server"]["properties"].as_object().expect("keys");
        let written: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
        let known = [OURS, THEIRS, WITHOUT_MEANING].concat();
        assert_eq!(written, known.into_iter().collect());
    }
}
