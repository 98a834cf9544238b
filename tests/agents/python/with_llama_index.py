"""llama-index-tools-mcp: the function tools of LlamaIndex."""

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from steps import ADDRESS, ARGUMENTS, HEADERS, IS_HTTP, play, run


async def script():
    client = BasicMCPClient(ADDRESS, headers=HEADERS) if IS_HTTP else BasicMCPClient(ADDRESS, ARGUMENTS)
    found = await McpToolSpec(client).to_tool_list_async()
    tools = {tool.metadata.name: tool for tool in found}
    return await play(tools, lambda name, given: tools[name].acall(**given))


run(script)
