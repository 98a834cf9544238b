"""pydantic-ai: a toolset of an agent."""

from pydantic_ai.mcp import MCPToolset, StdioTransport, StreamableHttpTransport
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run


def connect():
    if IS_HTTP:
        return StreamableHttpTransport(ADDRESS, headers=HEADERS)
    return StdioTransport(ADDRESS, ARGUMENTS)


async def script():
    async with MCPToolset(connect()) as toolset:
        names = [tool.name for tool in await toolset.list_tools()]
        return await play(names, toolset.direct_call_tool)


run(script)
