"""A client on the Python SDK 2.x that traces its calls itself. Arguments: the address of the
gateway, `legacy` or `auto`, a tool, its arguments. Prints the text of the result."""

import asyncio
import json
import sys

from mcp import Client
from tracing import trace_to_collector


async def main(url, mode, tool, arguments):
    async with Client(url, mode=mode) as client:
        result = await client.call_tool(tool, json.loads(arguments))
        print(result.content[0].text)


trace_to_collector("client")
asyncio.run(main(*sys.argv[1:]))
