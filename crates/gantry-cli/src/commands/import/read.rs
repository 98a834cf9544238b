//! The servers that a file of any client names.

use std::path::Path;

use gantry::RawJson;
use gantry_protocol::JsonLimits;
use gantry_protocol::json::JsonKind;

use crate::commands::import::translate::{Translated, translate};
use crate::config::edit::Document;
use crate::config::editor::{sections, unreadable, wrong};
use crate::exit::{Code, Exit};

/// A server of a file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    /// Its entry as it stands in `gantry.json`, or why there can be none.
    pub(crate) translated: Result<Translated, String>,
}

/// The servers of a file, in order. Of two with one name the first is found.
pub(crate) fn servers(file: &Path) -> Result<Vec<Found>, Exit> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    let json = match file.extension().is_some_and(|it| it.eq_ignore_ascii_case("toml")) {
        true => of_toml(&text).map_err(|reason| {
            let text = format!("{}: not valid TOML: {reason}", file.display());
            Exit::new(Code::Configuration, text).hint("mend the file; nothing was changed")
        })?,
        false => {
            let document = Document::parse(text).map_err(|error| wrong(file, &error))?;
            document.json().clone()
        }
    };
    let here = std::env::current_dir().unwrap_or_default();
    Ok(of_document(file, &json, &here.to_string_lossy()))
}

/// The servers of a block of JSON that is of no file; none if it is not such a block.
pub(crate) fn of_text(json: &RawJson) -> Vec<Found> {
    of_document(Path::new(""), json, "")
}

fn of_document(file: &Path, json: &RawJson, here: &str) -> Vec<Found> {
    let mut entries: Vec<(String, RawJson)> = Vec::new();
    let sections = sections(json).filter_map(|section| json.at(section));
    // Claude Code keeps what belongs to a folder, but not in it, under the folder's path.
    let of_folder = json.at(&["projects", here, "mcpServers"]);
    let of_codex = json.get("mcp_servers");
    let lists = ["mcpServers", "servers"].into_iter().filter_map(|key| json.get(key));
    let lists = lists.filter(|it| it.kind() == JsonKind::Array);
    for section in of_folder.into_iter().chain(sections).chain(of_codex).chain(lists) {
        let members = section.members().map(|it| (it.key().into_owned(), it.value()));
        let elements = section.elements().map(|it| {
            let name = it.get("name").and_then(|it| it.to_text()).unwrap_or_default();
            (name, it.edit().remove("name").apply())
        });
        entries.extend(members.chain(elements));
    }
    let mut found: Vec<Found> = Vec::new();
    for (name, entry) in entries {
        if !found.iter().any(|it| it.name == name) {
            found.push(Found { name, translated: translate(file, &entry) });
        }
    }
    found
}

/// TOML as JSON, or what is wrong with it, with line and column.
fn of_toml(text: &str) -> Result<RawJson, String> {
    let value: serde_json::Value = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |it| it.start);
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })?;
    RawJson::parse(value.to_string(), JsonLimits::default()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each server as `name: entry`, or `name! why`.
    fn told(json: &RawJson) -> Vec<String> {
        let told = of_document(Path::new("x.json"), json, "/here").into_iter().map(|it| {
            match it.translated {
                Ok(translated) => format!("{}: {}", it.name, translated.entry.compact().as_str()),
                Err(why) => format!("{}! {why}", it.name),
            }
        });
        told.collect()
    }

    #[test]
    fn every_client() {
        let cases: [(&str, &[&str]); 10] = [
            (
                r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "fs"], "env": {"K": "v"}}}}"#,
                &[r#"fs: {"command":"npx","args":["-y","fs"],"env":{"K":"v"}}"#],
            ),
            (
                r#"{"projects": {"/here": {"mcpServers": {"a": {"command": "x"}}}, "/b": {}},
                    "mcpServers": {"a": {"command": "y"}, "b": {"type": "http", "url": "https://h/mcp"}}}"#,
                &[r#"a: {"command":"x"}"#, r#"b: {"type":"http","url":"https://h/mcp"}"#],
            ),
            (
                r#"{"inputs": [], "servers": {"p": {"type": "stdio", "command": "npx", "envFile": ".env"}}}"#,
                &[r#"p: {"command":"npx","envFile":".env"}"#],
            ),
            (
                r#"{"mcp": {"l": {"type": "local", "command": ["npx", "-y", "p"], "environment": {"A": "b"}, "enabled": true},
                            "r": {"type": "remote", "url": "https://x/mcp", "enabled": false}}}"#,
                &[
                    r#"l: {"command":"npx","args":["-y","p"],"env":{"A":"b"}}"#,
                    r#"r: {"url":"https://x/mcp","disabled":true}"#,
                ],
            ),
            (
                r#"{"mcp": {"servers": {"g": {"type": "local", "command": ["g"], "timeout": 30000}}}}"#,
                &[r#"g: {"command":"g","timeout":30000}"#],
            ),
            (
                r#"{"context_servers": {"z": {"command": {"path": "z", "args": ["a"], "env": null}}}}"#,
                &[r#"z: {"command":"z","args":["a"]}"#],
            ),
            (
                r#"{"mcpServers": [{"name": "m", "url": "http://m/sse", "type": "sse"}, {"name": "n"}]}"#,
                &[
                    r#"m: {"type":"sse","url":"http://m/sse"}"#,
                    "n! it has neither `command` nor `url`",
                ],
            ),
            (
                r#"{"mcpServers": {"a": 1, "b": {"type": "pigeon", "url": "https://h"}}}"#,
                &["a! its entry is not an object", "b! its type `pigeon` is not known here"],
            ),
            (
                r#"{"mcpServers": {"c": {"command": "x", "timeout": 60, "autoApprove": ["a"]}}}"#,
                &[r#"c: {"command":"x","timeout":60000}"#],
            ),
            (r#"{"theme": "dark"}"#, &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(told(&RawJson::from_static(text)), expected, "{text}");
        }
    }

    #[test]
    fn codex() {
        let text = "model = \"o5\"\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"docs\"]\n\
                    env_vars = [\"HOME\"]\ntool_timeout_sec = 1.5\nenabled_tools = [\"a\"]\n\
                    [mcp_servers.docs.env]\nK = \"v\"\n[mcp_servers.web]\n\
                    url = \"https://h/mcp\"\nbearer_token_env_var = \"T\"\nenabled = false\n\
                    [mcp_servers.web.env_http_headers]\nX = \"Y\"\n";
        let expected = [
            r#"docs: {"command":"npx","args":["docs"],"env":{"K":"v","HOME":"${HOME}"},"timeout":1500,"include":["a"]}"#,
            r#"web: {"url":"https://h/mcp","headers":{"Authorization":"Bearer ${T}","X":"${Y}"},"disabled":true}"#,
        ];
        assert_eq!(told(&of_toml(text).expect("TOML")), expected);
        let wrong = of_toml("a = 1\nb = = 2\n").expect_err("not TOML");
        assert!(wrong.starts_with("line 2: "), "{wrong}");
    }
}
