//! Servers of another project: the Python SDK, one line of versions for each era.

use std::path::PathBuf;

use gantry_client::{List, Target};
use gantry_protocol::Revision;
use gantry_tests::temp_folder::cache;
use serde_json::json;

use super::{CallSlot, User, program, settings, text};

const OLDER: &str = r#"
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

class Name(BaseModel):
    username: str

server = FastMCP("older")

@server.tool()
async def add(a: int, b: int, ctx: Context) -> int:
    await ctx.report_progress(1, 2)
    await ctx.info("adding")
    return a + b

@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("who?", Name)
    return answer.data.username

server.run()
"#;

const NEWER: &str = r#"
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("newer")

@server.tool()
async def add(a: int, b: int, ctx: Context) -> int:
    await ctx.report_progress(1, 2)
    return a + b

server.run()
"#;

fn python(version: &str, script: &str) -> Target {
    let interpreter: PathBuf = cache().join(version).join("bin/python");
    program(interpreter, &["-c", script])
}

#[tokio::test]
async fn the_python_sdk_is_understood() {
    let cases = [
        ("python-mcp-1", OLDER, Revision::V2025_11_25, 2),
        ("python-mcp-2", NEWER, Revision::V2026_07_28, 1),
    ];
    for (version, script, revision, tools) in cases {
        let slot = CallSlot::take(&python(version, script), settings()).await;
        assert_eq!(slot.connection.peer().revision, revision, "{version}");
        let listed = slot.connection.list(List::Tools).await.expect(version);
        assert_eq!(listed.items.len(), tools, "{version}");
        let user = User::default();
        let sum = slot.call("add", json!({"a": 2, "b": 3}), &user).await.expect(version);
        assert_eq!(text(&sum), "5", "{version}");
        let heard = user.heard();
        assert!(heard.iter().any(|it| it.starts_with("progress 1")), "{version}: {heard:?}");
        if tools > 1 {
            let name = slot.call("ask", json!({}), &user).await.expect(version);
            assert_eq!(text(&name), "u", "{version}: {:?}", user.heard());
        }
        slot.close().await;
    }
}
