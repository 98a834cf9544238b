"""The client of fastmcp."""

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run


def connect():
    if IS_HTTP:
        return StreamableHttpTransport(ADDRESS, headers=HEADERS)
    return StdioTransport(ADDRESS, ARGUMENTS)


async def script():
    async with Client(connect()) as client:
        names = [tool.name for tool in await client.list_tools()]
        return await play(names, client.call_tool)


run(script)
