"""The fixtures on the Python SDK 1.x: stdio, Streamable HTTP and HTTP+SSE."""

import argparse
import contextlib
import json
import pathlib
import socket
import sys

import anyio
import mcp.shared.message
import mcp.shared.version
import mcp.types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import McpError
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

FIXTURES = json.loads((pathlib.Path(__file__).parent.parent / "fixtures.json").read_text())
RESOURCE_NOT_FOUND = -32002

server = Server("python1", "1.0.0")
state = {"cancelled": 0, "grown": False}
# Who is told of changes: the sessions that have called a tool, and those that watch the note.
sessions, watching = [], []


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    tools = FIXTURES["tools"] + ([FIXTURES["grown"]] if state["grown"] else [])
    return [types.Tool(**tool) for tool in tools]


@server.list_resources()
async def list_resources() -> list[types.Resource]:
    return [types.Resource(**resource) for resource in FIXTURES["resources"]]


@server.list_resource_templates()
async def list_templates() -> list[types.ResourceTemplate]:
    return [types.ResourceTemplate(**template) for template in FIXTURES["templates"]]


@server.read_resource()
async def read_resource(uri):
    uri = str(uri)
    if uri == "peer://note":
        return [ReadResourceContents(content=FIXTURES["note"], mime_type="text/plain")]
    if uri.startswith("peer://item/"):
        text = "item " + uri.removeprefix("peer://item/")
        return [ReadResourceContents(content=text, mime_type="text/plain")]
    raise McpError(types.ErrorData(code=RESOURCE_NOT_FOUND, message="no such resource", data={"uri": uri}))


@server.subscribe_resource()
async def subscribe(uri) -> None:
    meet(watching, server.request_context.session)


@server.unsubscribe_resource()
async def unsubscribe(uri) -> None:
    watching.remove(server.request_context.session)


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    return [types.Prompt(**prompt) for prompt in FIXTURES["prompts"]]


@server.get_prompt()
async def get_prompt(name, arguments) -> types.GetPromptResult:
    text = types.TextContent(type="text", text=f"Hello, {(arguments or {}).get('name')}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


@server.completion()
async def complete(ref, argument, context) -> types.Completion:
    values = [name for name in FIXTURES["names"] if name.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), hasMore=False)


@server.set_logging_level()
async def set_level(level) -> None:
    pass


@server.call_tool(validate_input=False)
async def call_tool(name, arguments):
    meet(sessions, server.request_context.session)
    tool = globals().get(f"tool_{name}")
    if tool is None:
        raise ValueError(f"unknown tool {name}")
    return await tool(arguments or {})


def meet(group, session) -> None:
    if session not in group:
        group.append(session)


async def tell(group, notify) -> None:
    """Tells every session of the group; one that is over is forgotten."""
    for session in list(group):
        try:
            await notify(session)
        except Exception:
            group.remove(session)


def text(value: str, **more) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], **more)


async def tool_echo(arguments):
    said = json.dumps(arguments, separators=(",", ":"))
    return text(said, structuredContent=arguments, _meta=FIXTURES["meta"])


async def tool_add(arguments):
    total = {"sum": arguments["a"] + arguments["b"]}
    return text(json.dumps(total), structuredContent=total)


async def report(step: int) -> None:
    context = server.request_context
    token = context.meta.progressToken if context.meta else None
    if token is not None:
        await context.session.send_progress_notification(
            token, step, 3, f"step {step}", related_request_id=str(context.request_id)
        )


async def tool_progress(arguments):
    for step in (1, 2, 3):
        await report(step)
    return text("done")


async def tool_logs(arguments):
    context = server.request_context
    for level, data in (("info", "one"), ("warning", "two")):
        await context.session.send_log_message(level, data, "peer", related_request_id=context.request_id)
    return text("logged")


async def tool_slow(arguments):
    # Who waits for this knows that the call can be cancelled now.
    await report(1)
    try:
        await anyio.sleep_forever()
    finally:
        state["cancelled"] += 1


async def tool_cancelled(arguments):
    return text(str(state["cancelled"]))


async def ask_form(form: str) -> types.ElicitResult:
    context = server.request_context
    params = FIXTURES["forms"][form]
    return await context.session.elicit_form(
        params["message"], params["requestedSchema"], related_request_id=context.request_id
    )


async def ask_model(**more):
    context = server.request_context
    messages = [types.SamplingMessage(**message) for message in FIXTURES["sample"]["messages"]]
    return await context.session.create_message(
        messages, max_tokens=50, related_request_id=context.request_id, **more
    )


async def ask_roots() -> str:
    context = server.request_context
    metadata = mcp.shared.message.ServerMessageMetadata(related_request_id=context.request_id)
    request = types.ServerRequest(types.ListRootsRequest())
    answer = await context.session.send_request(request, types.ListRootsResult, metadata=metadata)
    return ",".join(str(root.uri) for root in answer.roots)


def filled(answer: types.ElicitResult) -> str:
    return f"{answer.action} {(answer.content or {}).get('name', 'nobody')}"


async def tool_ask_form(arguments):
    return text(filled(await ask_form("name")))


async def tool_ask_url(arguments):
    context, url = server.request_context, FIXTURES["url"]
    answer = await context.session.elicit_url(
        url["message"], url["url"], url["elicitationId"], related_request_id=context.request_id
    )
    return text(answer.action)


async def tool_ask_model(arguments):
    return text((await ask_model()).content.text)


async def tool_ask_model_tools(arguments):
    tools = [types.Tool(**tool) for tool in FIXTURES["sampleTools"]]
    answer = await ask_model(tools=tools)
    used = next(block for block in answer.content_as_list if block.type == "tool_use")
    return text(f"{used.name} {used.input['city']}")


async def tool_ask_roots(arguments):
    return text(await ask_roots())


async def tool_ask_many(arguments):
    answers = {}

    async def gather(key, question):
        answers[key] = await question

    with_form = arguments.get("form", True)
    async with anyio.create_task_group() as group:
        if with_form:
            group.start_soon(gather, "form", ask_form("name"))
        group.start_soon(gather, "model", ask_model())
        group.start_soon(gather, "roots", ask_roots())
    said = [filled(answers["form"])] if with_form else []
    return text("|".join([*said, answers["model"].content.text, answers["roots"]]))


async def tool_ask_rounds(arguments):
    if not arguments.get("form", True):
        return text(f"{(await ask_model()).content.text} then {await ask_roots()}")
    name = (await ask_form("name")).content["name"]
    colour = (await ask_form("colour")).content["colour"]
    return text(f"{name} likes {colour}")


async def tool_fail(arguments):
    return text("it broke", isError=True)


async def tool_touch(arguments):
    await tell(watching, lambda session: session.send_resource_updated("peer://note"))
    return text("touched")


async def tool_grow(arguments):
    state["grown"] = not state["grown"]
    await tell(sessions, lambda session: session.send_tool_list_changed())
    return text("grew")


async def tool_grown(arguments):
    return text("new")


def offer_changes() -> None:
    """Lets every transport offer what `create_initialization_options` leaves out by default."""
    make = server.create_initialization_options

    def offer(*_, **__):
        offered = make(NotificationOptions(tools_changed=True))
        offered.capabilities.resources.subscribe = True
        return offered

    server.create_initialization_options = offer


def streamable_app() -> Starlette:
    manager = StreamableHTTPSessionManager(app=server)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with manager.run():
            yield

    async def handle(scope, receive, send):
        await manager.handle_request(scope, receive, send)

    return Starlette(routes=[Mount("/mcp", app=handle)], lifespan=lifespan)


def sse_app() -> Starlette:
    transport = SseServerTransport("/message")

    async def handle(request):
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await server.run(streams[0], streams[1], server.create_initialization_options())
        return Response()

    routes = [Route("/sse", endpoint=handle), Mount("/message", app=transport.handle_post_message)]
    return Starlette(routes=routes)


class SlashlessMount:
    """The endpoint has no slash at its end, and clients follow no redirect."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/mcp":
            scope = {**scope, "path": "/mcp/", "raw_path": b"/mcp/"}
        await self.app(scope, receive, send)


def serve_http(app, port: int) -> None:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    print(f"listening {listening.getsockname()[1]}", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


async def serve_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def pin(revision: str) -> None:
    """Makes `revision` the only one the SDK agrees to."""
    mcp.shared.version.SUPPORTED_PROTOCOL_VERSIONS[:] = [revision]
    types.LATEST_PROTOCOL_VERSION = revision


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=["stdio", "http", "sse"], default="stdio")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--revision")
    arguments = parser.parse_args()
    if arguments.revision:
        pin(arguments.revision)
    offer_changes()
    match arguments.transport:
        case "stdio":
            anyio.run(serve_stdio)
        case "http":
            serve_http(SlashlessMount(streamable_app()), arguments.port)
        case "sse":
            serve_http(sse_app(), arguments.port)


if __name__ == "__main__":
    main()
