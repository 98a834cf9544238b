"""Python `mcp` 2.x over stdio and Streamable HTTP, in either era."""

import asyncio
import warnings
from contextlib import asynccontextmanager

import arguments
import mcp_types as types
import steps
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

MODES = {"legacy": ("legacy", "2025-11-25"), "modern": ("auto", "2026-07-28")}


class Peer:
    """The common script's view of a `Client`."""

    def __init__(self, era):
        self.era = era
        self.lacks = frozenset() if era == "legacy" else frozenset({"ping"})
        self.elicitation = None
        self.logs = asyncio.Queue()
        self.notices = asyncio.Queue()

    @asynccontextmanager
    async def at(self, server):
        mode, revision = MODES[self.era]
        async with Client(
            server,
            mode=mode,
            log_level="debug",
            sampling_callback=self.on_sampling,
            elicitation_callback=self.on_elicitation,
            list_roots_callback=self.on_roots,
            logging_callback=self.logs.put,
            message_handler=self.on_message,
        ) as self.client:
            found = self.client.protocol_version
            steps.expect(found == revision, f"the client settled on {found}, not {revision}")
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
        match message:
            case types.ResourceUpdatedNotification(params=params):
                self.notices.put_nowait(f"updated {params.uri}")
            case types.ToolListChangedNotification():
                self.notices.put_nowait("tools changed")

    async def pages(self, method, member):
        items, cursor = [], None
        while True:
            page = await method(cursor=cursor, cache_mode="refresh")
            items += getattr(page, member)
            if (cursor := page.next_cursor) is None:
                return items

    async def tools(self):
        return [tool.name for tool in await self.pages(self.client.list_tools, "tools")]

    async def resources(self):
        return [str(item.uri) for item in await self.pages(self.client.list_resources, "resources")]

    async def templates(self):
        pages = await self.pages(self.client.list_resource_templates, "resource_templates")
        return [template.uri_template for template in pages]

    async def prompts(self):
        return [prompt.name for prompt in await self.pages(self.client.list_prompts, "prompts")]

    async def call(self, name, values, on_progress=None):
        async def report(progress, _total, _message):
            on_progress(progress)

        try:
            result = await self.client.call_tool(name, values, progress_callback=on_progress and report)
        except MCPError as problem:
            raise steps.Refused(problem.error.code, problem.error.message) from problem
        text = "".join(block.text for block in result.content if block.type == "text")
        return steps.Outcome(text, result.structured_content, result.is_error)

    async def call_then_cancel(self, name, values):
        started = asyncio.Event()
        task = asyncio.create_task(self.call(name, values, lambda _progress: started.set()))
        try:
            await started.wait()
        finally:
            # Here a cancelled task is a cancelled request: the library tells the server.
            task.cancel()
        await asyncio.wait([task])

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    async def prompt(self, name, values):
        return (await self.client.get_prompt(name, values)).messages[0].content.text

    async def complete(self, name, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=name)
        result = await self.client.complete(reference, {"name": argument, "value": value})
        return result.completion.values

    @asynccontextmanager
    async def watch(self, uri):
        if self.era == "legacy":
            await self.client.subscribe_resource(uri)
            yield self.notices
            await self.client.unsubscribe_resource(uri)
            return
        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[uri]) as subscription:
            yield Notices(subscription)

    async def set_level(self, level):
        if self.era == "legacy":
            await self.client.set_logging_level(level)

    async def ping(self):
        await self.client.send_ping()


class Notices:
    """The events of a subscription, in the words of the script."""

    def __init__(self, subscription):
        self.events = aiter(subscription)

    async def get(self):
        match await anext(self.events):
            case ResourceUpdated(uri=uri):
                return f"updated {uri}"
            case ToolsListChanged():
                return "tools changed"
            case event:
                return repr(event)


@asynccontextmanager
async def connect():
    # Session-era methods are deprecated in this library but still its way to speak that era.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    options = arguments.parse(["stdio", "http"], ["legacy", "modern"])
    server = options.url
    if options.transport == "stdio":
        server = StdioServerParameters(command=options.command, args=["--stdio"])
    async with Peer(options.era).at(server) as peer:
        yield peer


steps.main(connect)
