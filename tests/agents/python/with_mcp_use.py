"""mcp-use: the tools that it makes for LangChain."""

import os

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run

HTTP = {"url": ADDRESS, "headers": HEADERS}
STDIO = {"command": ADDRESS, "args": ARGUMENTS}


async def script():
    client = MCPClient.from_dict({"mcpServers": {"gantry": HTTP if IS_HTTP else STDIO}})
    try:
        await client.create_all_sessions()
        adapter = LangChainAdapter()
        await adapter.create_all(client)
        tools = {tool.name: tool for tool in adapter.tools}
        return await play(tools, lambda name, given: tools[name].ainvoke(given))
    finally:
        await client.close_all_sessions()


run(script)
