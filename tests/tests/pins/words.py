"""A server on the Python SDK whose tool is described by a file. `look` reads the file again and
tells its client that the list has changed."""

import pathlib
import sys

import anyio
import mcp.types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

FILE = pathlib.Path(sys.argv[1])
server = Server("words", "1.0.0")
text = FILE.read_text()


@server.list_tools()
async def list_tools():
    nothing = {"type": "object", "properties": {}}
    reads = types.ToolAnnotations(readOnlyHint=True)
    return [
        types.Tool(name="say", description=text, inputSchema=nothing, annotations=reads),
        types.Tool(name="look", description="Reads the file again.", inputSchema=nothing, annotations=reads),
    ]


@server.list_prompts()
async def list_prompts():
    return [types.Prompt(name="ask", description=text)]


@server.get_prompt()
async def get_prompt(name, arguments):
    content = types.TextContent(type="text", text="asked")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


@server.call_tool()
async def call_tool(name, arguments):
    global text
    if name == "look":
        text = FILE.read_text()
        await server.request_context.session.send_tool_list_changed()
        await server.request_context.session.send_prompt_list_changed()
    return [types.TextContent(type="text", text=f"{name} done")]


async def main():
    options = server.create_initialization_options(NotificationOptions(tools_changed=True, prompts_changed=True))
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, options)


anyio.run(main)
