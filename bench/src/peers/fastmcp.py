"""FastMCP's proxy in front of a program, with one client for all: PORT COMMAND [ARGUMENT...]"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


async def main() -> None:
    port, command, *arguments = sys.argv[1:]
    async with Client(StdioTransport(command, arguments)) as client:
        proxy = create_proxy(client, name="proxy")
        await proxy.run_async(
            transport="http", host="127.0.0.1", port=int(port), path="/mcp", show_banner=False
        )


asyncio.run(main())
