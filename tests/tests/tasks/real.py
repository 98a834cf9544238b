"""Calls tools as tasks, as a program that others have written does. Prints a line for each call."""
import asyncio
import sys
import warnings

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

CALLS = [("up_long_large", {"size": 3}), ("up_long_fail", {})]
# What it says of its own interface is not of interest here.
warnings.simplefilter("ignore")


async def main(url):
    async with streamable_http_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            for name, arguments in CALLS:
                created = await session.experimental.call_tool_as_task(name, arguments)
                task = created.task.taskId
                async for seen in session.experimental.poll_task(task):
                    last = seen.status
                result = await session.experimental.get_task_result(task, CallToolResult)
                print(tools[name].execution.taskSupport, last, result.content[0].text)


asyncio.run(asyncio.wait_for(main(sys.argv[1]), 30))
