"""The fixtures on the Python SDK 2.x, both eras: stdio, Streamable HTTP and HTTP+SSE."""

import argparse
import json
import pathlib
import socket
import sys

import anyio
import mcp.server.runner
import mcp_types as types
import uvicorn
from asking import NeedsInput, Questions
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

FIXTURES = json.loads((pathlib.Path(__file__).parent.parent / "fixtures.json").read_text())
MODERN = "2026-07-28"
INVALID_PARAMS, RESOURCE_NOT_FOUND = -32602, -32002

state = {"cancelled": 0, "grown": False}
# Who is told of changes: sessions with a handshake that have called a tool, or watch the note;
# clients without one listen to the bus.
sessions, watching, bus = [], [], InMemorySubscriptionBus()


async def list_tools(ctx, params):
    tools = FIXTURES["tools"] + ([FIXTURES["grown"]] if state["grown"] else [])
    return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])


async def list_resources(ctx, params):
    resources = [types.Resource.model_validate(resource) for resource in FIXTURES["resources"]]
    return types.ListResourcesResult(resources=resources)


async def list_templates(ctx, params):
    templates = [types.ResourceTemplate.model_validate(template) for template in FIXTURES["templates"]]
    return types.ListResourceTemplatesResult(resource_templates=templates)


async def read_resource(ctx, params):
    uri = params.uri
    if uri == "peer://note":
        said = FIXTURES["note"]
    elif uri.startswith("peer://item/"):
        said = "item " + uri.removeprefix("peer://item/")
    else:
        code = INVALID_PARAMS if ctx.protocol_version >= MODERN else RESOURCE_NOT_FOUND
        raise MCPError(code, "no such resource", {"uri": uri})
    contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=said)
    return types.ReadResourceResult(contents=[contents])


async def subscribe(ctx, params):
    meet(watching, ctx.session)
    return types.EmptyResult()


async def unsubscribe(ctx, params):
    forget(watching, ctx.session)
    return types.EmptyResult()


async def list_prompts(ctx, params):
    prompts = [types.Prompt.model_validate(prompt) for prompt in FIXTURES["prompts"]]
    return types.ListPromptsResult(prompts=prompts)


async def get_prompt(ctx, params):
    said = types.TextContent(text=f"Hello, {(params.arguments or {}).get('name')}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])


async def complete(ctx, params):
    values = [name for name in FIXTURES["names"] if name.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def set_level(ctx, params):
    return types.EmptyResult()


async def call_tool(ctx, params):
    if ctx.protocol_version < MODERN:
        meet(sessions, ctx.session)
    tool = globals().get(f"tool_{params.name}")
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"unknown tool {params.name}")
    try:
        return await tool(Call(ctx, params))
    except NeedsInput as needed:
        return needed.result


class Call:
    """One call: its arguments, its context and a way to ask."""

    def __init__(self, ctx, params):
        self.ctx, self.given = ctx, params.arguments or {}
        self.questions = Questions(ctx, params, modern=ctx.protocol_version >= MODERN)

    async def ask(self, **questions):
        return await self.questions.ask(questions)

    async def fill(self, field):
        answers = await self.ask(**{field: form(field)})
        return answers[field]


def meet(group, session) -> None:
    """Sessions are made anew for each request; the connection behind them stays."""
    if all(session._connection is not known._connection for known in group):
        group.append(session)


def forget(group, session) -> None:
    group[:] = [known for known in group if known._connection is not session._connection]


async def tell(group, notify) -> None:
    """Tells every session of the group; one that is over is forgotten."""
    for session in list(group):
        try:
            await notify(session)
        except Exception:
            group.remove(session)


def text(said: str, **more) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)], **more)


def form(field: str):
    return types.ElicitRequest(params=types.ElicitRequestFormParams.model_validate(FIXTURES["forms"][field]))


def sample(**more):
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams.model_validate({**FIXTURES["sample"], **more})
    )


def said_by(answer) -> str:
    content = answer.content
    return (content[0] if isinstance(content, list) else content).text


def filled(answer) -> str:
    return f"{answer.action} {(answer.content or {}).get('name', 'nobody')}"


def uris(answer) -> str:
    return ",".join(str(root.uri) for root in answer.roots)


async def tool_echo(call):
    said = json.dumps(call.given, separators=(",", ":"))
    return text(said, structured_content=call.given, _meta=FIXTURES["meta"])


async def tool_add(call):
    total = {"sum": call.given["a"] + call.given["b"]}
    return text(json.dumps(total), structured_content=total)


async def tool_progress(call):
    for step in (1, 2, 3):
        await call.ctx.session.report_progress(step, 3, f"step {step}")
    return text("done")


async def tool_logs(call):
    for level, data in (("info", "one"), ("warning", "two")):
        await call.ctx.session.send_log_message(level, data, "peer", related_request_id=call.ctx.request_id)
    return text("logged")


async def tool_slow(call):
    # Who waits for this knows that the call can be cancelled now.
    await call.ctx.session.report_progress(1, 3, "step 1")
    try:
        await anyio.sleep_forever()
    finally:
        state["cancelled"] += 1


async def tool_cancelled(call):
    return text(str(state["cancelled"]))


async def tool_ask_form(call):
    return text(filled(await call.fill("name")))


async def tool_ask_url(call):
    modern = call.ctx.protocol_version >= MODERN
    # Only the revisions with a handshake have an id here.
    url = {key: value for key, value in FIXTURES["url"].items() if not (modern and key == "elicitationId")}
    question = types.ElicitRequest(params=types.ElicitRequestURLParams.model_validate({"mode": "url", **url}))
    answers = await call.ask(page=question)
    return text(answers["page"].action)


async def tool_ask_model(call):
    answers = await call.ask(model=sample())
    return text(said_by(answers["model"]))


async def tool_ask_model_tools(call):
    answers = await call.ask(model=sample(tools=FIXTURES["sampleTools"]))
    content = answers["model"].content
    blocks = content if isinstance(content, list) else [content]
    used = next(block for block in blocks if block.type == "tool_use")
    return text(f"{used.name} {used.input['city']}")


async def tool_ask_roots(call):
    answers = await call.ask(roots=types.ListRootsRequest())
    return text(uris(answers["roots"]))


async def tool_ask_many(call):
    forms = {"name": form("name")} if call.given.get("form", True) else {}
    answers = await call.ask(**forms, model=sample(), roots=types.ListRootsRequest())
    said = [filled(answers["name"])] if forms else []
    return text("|".join([*said, said_by(answers["model"]), uris(answers["roots"])]))


async def tool_ask_rounds(call):
    if not call.given.get("form", True):
        model = (await call.ask(model=sample()))["model"]
        roots = (await call.ask(roots=types.ListRootsRequest()))["roots"]
        return text(f"{said_by(model)} then {uris(roots)}")
    name = (await call.fill("name")).content["name"]
    colour = (await call.fill("colour")).content["colour"]
    return text(f"{name} likes {colour}")


async def tool_fail(call):
    return text("it broke", is_error=True)


async def tool_touch(call):
    await tell(watching, lambda session: session.send_resource_updated("peer://note"))
    await bus.publish(ResourceUpdated(uri="peer://note"))
    return text("touched")


async def tool_grow(call):
    state["grown"] = not state["grown"]
    await tell(sessions, lambda session: session.send_tool_list_changed())
    await bus.publish(ToolsListChanged())
    return text("grew")


async def tool_grown(call):
    return text("new")


server = Server(
    "python2",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=ListenHandler(bus),
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_set_logging_level=set_level,
)


def offer_changes() -> None:
    """Lets every transport offer what `create_initialization_options` leaves out by default."""
    make = server.create_initialization_options
    server.create_initialization_options = lambda *_, **__: make(NotificationOptions(tools_changed=True))


def sse_app() -> Starlette:
    transport = SseServerTransport("/message")

    async def handle(request):
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await server.run(streams[0], streams[1], server.create_initialization_options())
        return Response()

    routes = [Route("/sse", endpoint=handle), Mount("/message", app=transport.handle_post_message)]
    return Starlette(routes=routes)


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
    """Makes `revision` the only one with a handshake that the SDK agrees to."""
    mcp.server.runner.HANDSHAKE_PROTOCOL_VERSIONS = (revision,)
    mcp.server.runner.LATEST_HANDSHAKE_VERSION = revision


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=["stdio", "http", "sse"], default="stdio")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--revision", default=MODERN)
    arguments = parser.parse_args()
    if arguments.revision < MODERN:
        pin(arguments.revision)
    offer_changes()
    match arguments.transport:
        case "stdio":
            anyio.run(serve_stdio)
        case "http":
            serve_http(server.streamable_http_app(), arguments.port)
        case "sse":
            serve_http(sse_app(), arguments.port)


if __name__ == "__main__":
    main()
