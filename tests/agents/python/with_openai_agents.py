"""openai-agents: function tools of the Agents SDK."""

import json

from agents import Agent, RunContextWrapper, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run


def connect():
    if IS_HTTP:
        return MCPServerStreamableHttp({"url": ADDRESS, "headers": HEADERS}, name="gantry")
    return MCPServerStdio({"command": ADDRESS, "args": ARGUMENTS}, name="gantry")


async def script():
    set_tracing_disabled(True)
    async with connect() as server:
        agent = Agent("agent", mcp_servers=[server])
        found = await MCPUtil.get_all_function_tools([server], False, RunContextWrapper(None), agent)
        tools = {tool.name: tool for tool in found}

        async def call(name, given):
            words = json.dumps(given)
            context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=words)
            return await tools[name].on_invoke_tool(context, words)

        return await play(tools, call)


run(script)
