//! One file of each program, and what it gives.

use std::path::Path;

use gantry_client::{HttpKind, Target};
use gantry_providers::upstreams::UpstreamConfig;

use crate::config::{Config, merge, transport};

fn environment(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/home/me",
        "GITHUB_TOKEN" | "GITHUB_PERSONAL_ACCESS_TOKEN" => "ghp-secret",
        "DATABASE_URL" => "postgres://db",
        "API_KEY" | "KEY" => "key-secret",
        _ => return None,
    };
    Some(value.to_owned())
}

/// Checks what a file gives: a line for each server.
fn check(file: &str, text: &str, expected: &[&str]) {
    let config = Config::parse(Path::new(file), text.as_bytes(), &environment);
    let config = config.unwrap_or_else(|error| panic!("{file}: {error}"));
    let lines: Vec<String> = config.servers.iter().map(line).collect();
    assert_eq!(lines, expected, "{file}: {:?}", config.warnings);
}

/// A server in a line: its name, the way to it, where it is, and what goes with it.
fn line(server: &UpstreamConfig) -> String {
    let target = match &server.target {
        Ok(Target::Program(program)) => {
            let inherited = merge::environment();
            let own = program.env.iter().filter(|variable| !inherited.contains(variable));
            let env: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
            let directory = program.directory.iter().map(|it| format!("in {}", it.display()));
            let words = [program.program.display().to_string()].into_iter();
            let words = words.chain(program.args.iter().cloned()).chain(env).chain(directory);
            words.collect::<Vec<_>>().join(" ")
        }
        Ok(Target::Http(endpoint, kind)) => {
            let kind = match kind {
                HttpKind::Auto => "",
                HttpKind::Streamable => " only",
                HttpKind::Events => " events",
            };
            format!("{}{kind}{}", endpoint.url, headers(&endpoint.headers))
        }
        Ok(Target::WebSocket(endpoint)) => {
            format!("{}{}", endpoint.url, headers(&endpoint.headers))
        }
        Err(problem) => problem.clone(),
    };
    let off = if server.disabled { " (off)" } else { "" };
    format!("{} {} {target}{off}", server.name, transport(server))
}

fn headers(headers: &[(String, gantry_client::Secret)]) -> String {
    headers.iter().map(|(name, value)| format!(" {name}: {}", value.expose())).collect()
}

#[test]
fn claude_desktop() {
    check(
        "/home/me/claude_desktop_config.json",
        r#"{"globalShortcut": "", "mcpServers": {"fs": {"command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"], "env": {"K": "v"}}}}"#,
        &["fs stdio npx -y @modelcontextprotocol/server-filesystem /data K=v"],
    );
}

#[test]
fn claude_code() {
    check(
        "/project/.mcp.json",
        r#"{"mcpServers": {
            "api": {"type": "http", "url": "${API_BASE:-https://api.example.com}/mcp",
                    "headers": {"Authorization": "Bearer ${API_KEY}"}},
            "old": {"type": "sse", "url": "https://api.example.com/sse"},
            "db": {"type": "stdio", "command": "uvx", "args": ["db-mcp"],
                   "env": {"DB_URL": "${DATABASE_URL}"}, "cwd": "./sub"}}}"#,
        &[
            "api http https://api.example.com/mcp Authorization: Bearer key-secret",
            "old sse https://api.example.com/sse events",
            "db stdio uvx db-mcp DB_URL=postgres://db in /project/sub",
        ],
    );
}

#[test]
fn vs_code() {
    check(
        "/project/.vscode/mcp.json",
        r#"{"inputs": [{"type": "promptString", "id": "key", "password": true},
                       {"type": "promptString", "id": "the-port", "default": "8080"}],
            "servers": {
              "p": {"type": "stdio", "command": "npx", "args": ["-y", "${workspaceFolder}/x"],
                    "env": {"K": "${input:key}"}, "sandboxEnabled": true, "sandbox": {},
                    "dev": {"watch": "src/**", "debug": {"type": "node"}}, "gallery": true},
              "r": {"type": "http", "url": "https://mcp.example.com:${input:the-port}/mcp",
                    "headers": {"Authorization": "Bearer ${input:key}"}},
              "u": {"url": "https://mcp.example.com/${input:user-name}"}}}"#,
        &[
            "p stdio npx -y /project/x K=key-secret",
            "r http https://mcp.example.com:8080/mcp Authorization: Bearer key-secret",
            "u unknown /project/.vscode/mcp.json:9:28: `url`: the input `user-name` cannot be \
             asked for here; set the variable `USER_NAME` to its value",
        ],
    );
}

#[test]
fn cursor_windsurf_gemini_cline() {
    check(
        "/home/me/.cursor/mcp.json",
        r#"{"mcpServers": {
            "r": {"url": "https://mcp.example.com/mcp",
                  "headers": {"Authorization": "Bearer ${env:API_KEY}"}, "auth": {"CLIENT_ID": "x"}},
            "w": {"serverUrl": "https://mcp.example.com/sse", "disabledTools": ["a"]},
            "g": {"httpUrl": "https://mcp.example.com/mcp", "trust": false, "includeTools": ["b"]},
            "c": {"command": "node", "args": ["${userHome}/c.js"], "disabled": true,
                  "autoApprove": [], "alwaysAllow": ["x"], "transportType": "stdio"}}}"#,
        &[
            "r http https://mcp.example.com/mcp Authorization: Bearer key-secret",
            "w http https://mcp.example.com/sse",
            "g http https://mcp.example.com/mcp only",
            "c stdio node /home/me/c.js (off)",
        ],
    );
}

#[test]
fn opencode() {
    check(
        "/project/opencode.jsonc",
        r#"{"$schema": "https://opencode.ai/config.json", "theme": "x", "mcp": {
            "l": {"type": "local", "command": ["npx", "-y", "pkg"], "environment": {"A": "b"},
                  "cwd": ".", "enabled": true, "timeout": 5000},
            "off": {"enabled": false},
            "r": {"type": "remote", "url": "https://x/mcp",
                  "headers": {"Authorization": "Bearer {env:KEY}"},
                  "oauth": {"clientId": "{env:ID}"}}, // the end
        }}"#,
        &[
            "l stdio npx -y pkg A=b in /project",
            "off unknown /project/opencode.jsonc:4:13: the server `off` has neither `command` nor \
             `url`; add one of them (off)",
            "r http https://x/mcp Authorization: Bearer key-secret",
        ],
    );
}

#[test]
fn codex() {
    let text = r#"
model = "some"

[profiles.fast]
model = "other"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["search"]
env = { T_TOKEN = "x" }

[mcp_servers.web]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "API_KEY"
enabled = false

[mcp_servers.lost]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "NOWHERE"
"#;
    check(
        "/home/me/.codex/config.toml",
        text,
        &[
            "docs stdio npx -y docs T_TOKEN=x",
            "web http https://mcp.example.com/mcp Authorization: Bearer key-secret (off)",
            "lost unknown /home/me/.codex/config.toml:22:24: `bearer_token_env_var`: the \
             variable `NOWHERE` is not set; set it",
        ],
    );
    let config = Config::parse(Path::new("c.toml"), text.as_bytes(), &environment).expect("right");
    let docs = &config.servers[0];
    assert_eq!(docs.client.connect_within.as_secs(), 20);
    assert_eq!(docs.client.silence.as_millis(), 1500);
    assert_eq!(docs.include, ["search"]);
}

#[test]
fn zed_and_lists() {
    check(
        "/home/me/.config/zed/settings.json",
        r#"{"context_servers": {
            "new": {"source": "custom", "command": "a", "args": ["b"], "env": {}},
            "old": {"command": {"path": "a", "args": ["b"], "env": {"C": "d"}}, "settings": {}}}}"#,
        &["new stdio a b", "old stdio a b C=d"],
    );
    check(
        "/x/mcp.json",
        r#"{"mcpServers": [
            {"name": "one", "protocol": "stdio", "command": "a", "enabled": true},
            {"name": "two", "protocol": "auto", "url": "wss://example.com/ws"},
            {"url": "https://example.com"}]}"#,
        &["one stdio a", "two websocket wss://example.com/ws"],
    );
}

#[test]
fn anvil() {
    check(
        "/project/anvil.json",
        r#"{
  "mcp": {
    "servers": {
      "github": {
        "type": "local",
        "command": ["npx", "-y", "@modelcontextprotocol/server-github"],
        "environment": {
          "GITHUB_TOKEN": "{env:GITHUB_TOKEN}"
        },
        "enabled": true,
        "timeout": 30000
      },
      "postgres": {
        "type": "local",
        "command": ["postgres-mcp-server"],
        "environment": {
          "DATABASE_URL": "{env:DATABASE_URL}"
        },
        "enabled": true
      },
      "remote-tools": {
        "type": "remote",
        "url": "https://api.example.com/mcp",
        "headers": {
          "Authorization": "Bearer {env:API_KEY}"
        },
        "oauth": {
          "clientId": "client-id",
          "authEndpoint": "https://auth.example.com/oauth/authorize",
          "tokenEndpoint": "https://auth.example.com/oauth/token"
        },
        "enabled": true,
        "timeout": 60000
      }
    }
  }
}"#,
        &[
            "github stdio npx -y @modelcontextprotocol/server-github GITHUB_TOKEN=ghp-secret",
            "postgres stdio postgres-mcp-server DATABASE_URL=postgres://db",
            "remote-tools http https://api.example.com/mcp Authorization: Bearer key-secret",
        ],
    );
}

#[test]
fn erasmus() {
    check(
        "/home/me/.erasmus/mcp/config.json",
        r#"{
  "mcpServers": {
    "github": {
      "command": "./erasmus/mcp/github/server",
      "args": ["studio"],
      "env": {
        "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}"
      }
    }
  }
}"#,
        &["github stdio /home/me/.erasmus/mcp/erasmus/mcp/github/server studio \
           GITHUB_PERSONAL_ACCESS_TOKEN=ghp-secret"],
    );
}
