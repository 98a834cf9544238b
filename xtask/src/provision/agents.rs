//! Agents, a stand-in for their models, and agent libraries, pinned. Each has a folder of its own, since
//! they want different versions of the same things.

use super::{Installer, Peer};

/// What they share with the peers of the tests.
pub(super) const SHARED: &[&str] = &["node22", "ts-sdk-1", "ts-server-2", "gateway-pip-fastmcp"];

/// Agents, and the stand-in.
pub(super) const AGENTS: &[Peer] = &[
    Peer {
        folder: "agent-claude-code",
        installer: Installer::Npm,
        pins: &["@anthropic-ai/claude-code@2.1.327"],
        proof: "node_modules/.bin/claude",
    },
    Peer {
        folder: "agent-codex",
        installer: Installer::Npm,
        pins: &["@openai/codex@0.169.0"],
        proof: "node_modules/.bin/codex",
    },
    Peer {
        folder: "agent-opencode",
        installer: Installer::Npm,
        pins: &["opencode-ai@1.18.33"],
        proof: "node_modules/.bin/opencode",
    },
    Peer {
        folder: "agent-gemini-cli",
        installer: Installer::Npm,
        pins: &["@google/gemini-cli@0.61.0"],
        proof: "node_modules/.bin/gemini",
    },
    Peer {
        folder: "agent-qwen-code",
        installer: Installer::Npm,
        pins: &["@qwen-code/qwen-code@0.24.4"],
        proof: "node_modules/.bin/qwen",
    },
    Peer {
        folder: "agent-model",
        installer: Installer::Npm,
        pins: &["@copilotkit/aimock@1.43.0"],
        proof: "node_modules/@copilotkit/aimock/package.json",
    },
];

/// Agent libraries.
pub(super) const LIBRARIES: &[Peer] = &[
    Peer {
        folder: "library-langchain",
        installer: Installer::Pip,
        pins: &["langchain-mcp-adapters==0.3.2"],
        proof: "bin/python",
    },
    Peer {
        folder: "library-openai-agents",
        installer: Installer::Pip,
        pins: &["openai-agents==0.24.0"],
        proof: "bin/python",
    },
    Peer {
        folder: "library-pydantic-ai",
        installer: Installer::Pip,
        pins: &["pydantic-ai-slim[mcp]==2.66.0"],
        proof: "bin/python",
    },
    Peer {
        folder: "library-llama-index",
        installer: Installer::Pip,
        pins: &["llama-index-tools-mcp==0.6.0"],
        proof: "bin/python",
    },
    Peer {
        folder: "library-smolagents",
        installer: Installer::Pip,
        // Its adapter was written for the SDK 1.x and does not say so.
        pins: &["smolagents[mcp]==1.26.0", "mcp==1.30.0"],
        proof: "bin/python",
    },
    Peer {
        folder: "library-mcp-use",
        installer: Installer::Pip,
        pins: &["mcp-use==1.7.1"],
        proof: "bin/python",
    },
    Peer {
        folder: "library-ai-sdk-mcp",
        installer: Installer::Npm,
        pins: &["@ai-sdk/mcp@2.0.99"],
        proof: "node_modules/@ai-sdk/mcp/package.json",
    },
    Peer {
        folder: "library-mcporter",
        installer: Installer::Npm,
        pins: &["mcporter@0.12.3"],
        proof: "node_modules/mcporter/package.json",
    },
    Peer {
        folder: "library-mcp-remote",
        installer: Installer::Npm,
        pins: &["mcp-remote@0.15.1"],
        proof: "node_modules/mcp-remote/package.json",
    },
];
