//! The clients that are known, and where each has its configuration.

use std::path::PathBuf;

use Base::{Here, Home, Settings};

/// A client.
#[derive(Debug)]
pub(crate) struct Client {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it calls itself.
    pub(crate) title: &'static str,
    places: &'static [(Base, &'static str)],
}

/// Where a path begins.
#[derive(Debug, Clone, Copy)]
enum Base {
    /// The current folder.
    Here,
    /// The user's home.
    Home,
    /// Where programs keep the user's settings.
    Settings,
}

/// All of them. What belongs to the folder comes before what belongs to the user.
pub(crate) const CLIENTS: [Client; 9] = [
    Client {
        name: "claude",
        title: "Claude Desktop",
        places: &[
            (Home, "Library/Application Support/Claude/claude_desktop_config.json"),
            (Settings, "Claude/claude_desktop_config.json"),
        ],
    },
    Client {
        name: "claude-code",
        title: "Claude Code",
        places: &[(Here, ".mcp.json"), (Home, ".claude.json")],
    },
    Client {
        name: "cursor",
        title: "Cursor",
        places: &[(Here, ".cursor/mcp.json"), (Home, ".cursor/mcp.json")],
    },
    Client {
        name: "vscode",
        title: "VS Code",
        places: &[
            (Here, ".vscode/mcp.json"),
            (Settings, "Code/User/mcp.json"),
            (Home, "Library/Application Support/Code/User/mcp.json"),
            (Home, ".copilot/mcp-config.json"),
        ],
    },
    Client {
        name: "cline",
        title: "Cline",
        places: &[
            (Home, ".cline/data/settings/cline_mcp_settings.json"),
            (
                Settings,
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        ],
    },
    Client {
        name: "codex",
        title: "Codex",
        places: &[(Here, ".codex/config.toml"), (Home, ".codex/config.toml")],
    },
    Client {
        name: "opencode",
        title: "opencode",
        places: &[
            (Here, "opencode.json"),
            (Here, "opencode.jsonc"),
            (Settings, "opencode/opencode.json"),
            (Settings, "opencode/opencode.jsonc"),
        ],
    },
    Client { name: "erasmus", title: "Erasmus", places: &[(Home, ".erasmus/mcp/config.json")] },
    Client { name: "anvil", title: "Anvil", places: &[(Here, "anvil.json")] },
];

impl Client {
    /// Where its files may be.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let place = |(base, path): &(Base, &str)| Some(base.folder()?.join(path));
        let mut places: Vec<PathBuf> = self.places.iter().filter_map(place).collect();
        // In the user's home both beginnings are one.
        places.dedup();
        places
    }

    /// Its files that are there.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.places().into_iter().filter(|place| place.is_file()).collect()
    }
}

impl Base {
    fn folder(self) -> Option<PathBuf> {
        let given =
            |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        match self {
            Here => std::env::current_dir().ok(),
            Home => given("HOME"),
            Settings => {
                given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|it| it.join(".config")))
            }
        }
    }
}
