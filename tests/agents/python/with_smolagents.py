"""smolagents: the tools of its agents. It has no asynchronous form."""

from mcp import StdioServerParameters
from smolagents import MCPClient
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run

HTTP = {"url": ADDRESS, "transport": "streamable-http", "headers": HEADERS}


async def script():
    server = HTTP if IS_HTTP else StdioServerParameters(command=ADDRESS, args=ARGUMENTS)
    with MCPClient(server, structured_output=True) as found:
        tools = {tool.name: tool for tool in found}

        async def call(name, given):
            return tools[name](**given)

        return await play(tools, call)


run(script)
