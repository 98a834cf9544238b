"""Python `mcp` 1.x over stdio, Streamable HTTP and HTTP+SSE."""

import asyncio
from contextlib import asynccontextmanager

import arguments
import steps
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl


class Peer:
    """The common script's view of a `ClientSession`."""

    era = "legacy"
    lacks = frozenset()

    def __init__(self):
        self.elicitation = None
        self.logs = asyncio.Queue()
        self.notices = asyncio.Queue()
        self.tokens = asyncio.Queue()

    @asynccontextmanager
    async def over(self, read, write):
        callbacks = {
            "sampling_callback": self.on_sampling,
            "elicitation_callback": self.on_elicitation,
            "list_roots_callback": self.on_roots,
            "logging_callback": self.logs.put,
            "message_handler": self.on_message,
        }
        async with ClientSession(read, write, **callbacks) as self.session:
            await self.session.initialize()
            yield self

    async def on_sampling(self, _context, _params):
        content = types.TextContent(type="text", text="a kind of crane")
        return types.CreateMessageResult(role="assistant", content=content, model="none")

    async def on_elicitation(self, _context, _params):
        action, content = self.elicitation
        return types.ElicitResult(action=action, content=content)

    async def on_roots(self, _context):
        return types.ListRootsResult(roots=[types.Root(uri=steps.ROOT)])

    async def on_message(self, message):
        match getattr(message, "root", message):
            case types.ResourceUpdatedNotification(params=params):
                self.notices.put_nowait(f"updated {params.uri}")
            case types.ToolListChangedNotification():
                self.notices.put_nowait("tools changed")
            case types.ProgressNotification(params=params):
                self.tokens.put_nowait(params.progressToken)

    async def pages(self, method, member):
        items, cursor = [], None
        while True:
            page = await method(params=types.PaginatedRequestParams(cursor=cursor))
            items += getattr(page, member)
            if (cursor := page.nextCursor) is None:
                return items

    async def tools(self):
        return [tool.name for tool in await self.pages(self.session.list_tools, "tools")]

    async def resources(self):
        return [str(item.uri) for item in await self.pages(self.session.list_resources, "resources")]

    async def templates(self):
        pages = await self.pages(self.session.list_resource_templates, "resourceTemplates")
        return [template.uriTemplate for template in pages]

    async def prompts(self):
        return [prompt.name for prompt in await self.pages(self.session.list_prompts, "prompts")]

    async def call(self, name, values, on_progress=None):
        async def report(progress, _total, _message):
            on_progress(progress)

        try:
            result = await self.session.call_tool(name, values, progress_callback=on_progress and report)
        except McpError as problem:
            raise steps.Refused(problem.error.code, problem.error.message) from problem
        text = "".join(block.text for block in result.content if block.type == "text")
        return steps.Outcome(text, result.structuredContent, result.isError)

    async def call_then_cancel(self, name, values):
        while not self.tokens.empty():
            self.tokens.get_nowait()
        task = asyncio.create_task(self.call(name, values, lambda _progress: None))
        try:
            # This library uses the request's id as its progress token, which is
            # the only public place where a caller can learn the id.
            params = types.CancelledNotificationParams(requestId=await self.tokens.get(), reason="enough")
            notification = types.CancelledNotification(params=params)
            await self.session.send_notification(types.ClientNotification(notification))
        finally:
            task.cancel()

    async def read(self, uri):
        return (await self.session.read_resource(AnyUrl(uri))).contents[0].text

    async def prompt(self, name, values):
        return (await self.session.get_prompt(name, values)).messages[0].content.text

    async def complete(self, name, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=name)
        result = await self.session.complete(reference, {"name": argument, "value": value})
        return result.completion.values

    @asynccontextmanager
    async def watch(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))
        yield self.notices
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def set_level(self, level):
        await self.session.set_logging_level(level)

    async def ping(self):
        await self.session.send_ping()


def streams(options):
    """The pair of streams of the chosen transport, as a context manager."""
    if options.transport == "stdio":
        return stdio_client(StdioServerParameters(command=options.command, args=["--stdio"]))
    if options.transport == "sse":
        return sse_client(arguments.door(options.url, "http", "/sse"))
    return streamable_http_client(options.url)


@asynccontextmanager
async def connect():
    options = arguments.parse(["stdio", "http", "sse"], ["legacy"])
    async with streams(options) as (read, write, *_), Peer().over(read, write) as peer:
        yield peer


steps.main(connect)
