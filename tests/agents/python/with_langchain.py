"""langchain-mcp-adapters: the tools of LangChain."""

from langchain_mcp_adapters.client import MultiServerMCPClient
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run

HTTP = {"transport": "streamable_http", "url": ADDRESS, "headers": HEADERS}
STDIO = {"transport": "stdio", "command": ADDRESS, "args": ARGUMENTS}


async def script():
    client = MultiServerMCPClient({"gantry": HTTP if IS_HTTP else STDIO})
    # A session for all, so that a program is not started for each call.
    async with client.session("gantry") as session:
        from langchain_mcp_adapters.tools import load_mcp_tools

        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        return await play(tools, lambda name, given: tools[name].ainvoke(given))


run(script)
