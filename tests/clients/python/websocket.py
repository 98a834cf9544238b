"""A plain WebSocket client, subprotocol `mcp`, in either era: every message written by hand."""

import asyncio
import itertools
import json
from contextlib import asynccontextmanager

import arguments
import steps
import websockets

PREFIX = "io.modelcontextprotocol/"
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
CLIENT = {"name": "gantry-script", "version": "1.0.0"}
CAPABILITIES = {"sampling": {}, "elicitation": {"form": {}}, "roots": {}}


class Peer:
    """The common script's view of one WebSocket."""

    def __init__(self, socket, era):
        self.socket, self.era = socket, era
        self.lacks = frozenset() if era == "legacy" else frozenset({"ping"})
        self.elicitation = None
        self.level = None
        self.ids = itertools.count(1)
        self.pending = {}
        self.progress = {}
        self.listening = {}
        self.logs = asyncio.Queue()
        self.notices = asyncio.Queue()

    async def begin(self):
        if self.era == "modern":
            discovered = await self.request("server/discover")
            steps.expect(REVISIONS["modern"] in discovered["supportedVersions"], f"discovered {discovered}")
            return
        hello = {"protocolVersion": REVISIONS["legacy"], "capabilities": CAPABILITIES, "clientInfo": CLIENT}
        welcome = await self.request("initialize", hello)
        steps.expect(welcome["protocolVersion"] == REVISIONS["legacy"], f"initialize gave {welcome}")
        await self.send({"method": "notifications/initialized"})

    async def send(self, message):
        await self.socket.send(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))

    async def receive(self):
        """Reads frames until the socket ends, then lets every open request know."""
        reason = "the socket closed"
        try:
            async for frame in self.socket:
                await self.take(json.loads(frame))
        except Exception as problem:
            reason = f"the reader stopped: {steps.describe(problem)}"
            await self.socket.close()
        for answer in self.pending.values():
            self.settle(answer, {"error": {"code": 0, "message": reason}})

    @staticmethod
    def settle(answer, message):
        # A step that ran out of time no longer waits for its answer.
        if not answer.done():
            answer.set_result(message)

    async def take(self, message):
        """Handles one message: an answer, a question or a notice."""
        if "method" not in message:
            self.settle(self.pending.pop(message["id"]), message)
        elif "id" in message:
            await self.answer(message)
        else:
            self.notice(message["method"], message.get("params", {}))

    async def answer(self, request):
        steps.expect(self.era == "legacy", f"a stateless client was asked {request['method']}")
        await self.send({"id": request["id"], "result": self.respond(request["method"])})

    def respond(self, method):
        """What this client says to a question of the server, whichever way it came."""
        if method == "elicitation/create":
            action, content = self.elicitation
            return {"action": action, "content": content} if content else {"action": action}
        if method == "sampling/createMessage":
            return {"role": "assistant", "model": "none", "content": {"type": "text", "text": "a kind of crane"}}
        return {"roots": [{"uri": steps.ROOT}]} if method == "roots/list" else {}

    def notice(self, method, params):
        subscription = params.get("_meta", {}).get(f"{PREFIX}subscriptionId")
        queue = self.listening.get(subscription, self.notices)
        match method:
            case "notifications/progress":
                self.progress[params["progressToken"]](params["progress"])
            case "notifications/message":
                self.logs.put_nowait(params)
            case "notifications/resources/updated":
                queue.put_nowait(f"updated {params['uri']}")
            case "notifications/tools/list_changed":
                queue.put_nowait("tools changed")
            case "notifications/subscriptions/acknowledged":
                queue.put_nowait("acknowledged")

    def stamped(self, params, token):
        """The parameters with the `_meta` that the era asks for."""
        meta = {} if token is None else {"progressToken": token}
        if self.era == "modern":
            meta[f"{PREFIX}protocolVersion"] = REVISIONS["modern"]
            meta[f"{PREFIX}clientInfo"] = CLIENT
            meta[f"{PREFIX}clientCapabilities"] = CAPABILITIES
            if self.level:
                meta[f"{PREFIX}logLevel"] = self.level
        return {**params, "_meta": meta} if meta else params

    async def start(self, method, params, on_progress=None):
        """Sends a request and gives its id with the future of its answer."""
        number = next(self.ids)
        answer = self.pending[number] = asyncio.get_running_loop().create_future()
        token = None
        if on_progress:
            token = f"progress-{number}"
            self.progress[token] = on_progress
        await self.send({"id": number, "method": method, "params": self.stamped(params, token)})
        return number, answer

    async def request(self, method, params=None, on_progress=None):
        """One request with all its rounds: a stateless server may ask before it answers."""
        params = params or {}
        while True:
            _number, answer = await self.start(method, params, on_progress)
            message = await answer
            if "error" in message:
                raise steps.Refused(message["error"]["code"], message["error"]["message"])
            result = message["result"]
            if result.get("resultType", "complete") == "complete":
                return result
            questions = result.get("inputRequests", {})
            responses = {key: self.respond(question["method"]) for key, question in questions.items()}
            state = {"requestState": result["requestState"]} if "requestState" in result else {}
            params = {**params, "inputResponses": responses, **state}

    async def pages(self, method, member, key):
        names, cursor = [], {}
        while True:
            page = await self.request(method, cursor)
            names += [item[key] for item in page[member]]
            if "nextCursor" not in page:
                return names
            cursor = {"cursor": page["nextCursor"]}

    async def tools(self):
        return await self.pages("tools/list", "tools", "name")

    async def resources(self):
        return await self.pages("resources/list", "resources", "uri")

    async def templates(self):
        return await self.pages("resources/templates/list", "resourceTemplates", "uriTemplate")

    async def prompts(self):
        return await self.pages("prompts/list", "prompts", "name")

    async def call(self, name, values, on_progress=None):
        result = await self.request("tools/call", {"name": name, "arguments": values}, on_progress)
        text = "".join(block["text"] for block in result["content"] if block["type"] == "text")
        return steps.Outcome(text, result.get("structuredContent"), result.get("isError", False))

    async def call_then_cancel(self, name, values):
        started = asyncio.Event()
        params = {"name": name, "arguments": values}
        number, _answer = await self.start("tools/call", params, lambda _progress: started.set())
        await started.wait()
        await self.send({"method": "notifications/cancelled", "params": {"requestId": number}})

    async def read(self, uri):
        return (await self.request("resources/read", {"uri": uri}))["contents"][0]["text"]

    async def prompt(self, name, values):
        result = await self.request("prompts/get", {"name": name, "arguments": values})
        return result["messages"][0]["content"]["text"]

    async def complete(self, name, argument, value):
        params = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": value}}
        return (await self.request("completion/complete", params))["completion"]["values"]

    @asynccontextmanager
    async def watch(self, uri):
        if self.era == "legacy":
            await self.request("resources/subscribe", {"uri": uri})
            yield self.notices
            await self.request("resources/unsubscribe", {"uri": uri})
            return
        wanted = {"toolsListChanged": True, "resourceSubscriptions": [uri]}
        number, _answer = await self.start("subscriptions/listen", {"notifications": wanted})
        notices = self.listening[number] = asyncio.Queue()
        first = await notices.get()
        steps.expect(first == "acknowledged", f"the stream began with {first}")
        yield notices
        await self.send({"method": "notifications/cancelled", "params": {"requestId": number}})

    async def set_level(self, level):
        if self.era == "legacy":
            await self.request("logging/setLevel", {"level": level})
        self.level = level

    async def ping(self):
        await self.request("ping")


@asynccontextmanager
async def connect():
    options = arguments.parse(["ws"], ["legacy", "modern"])
    address = arguments.door(options.url, "ws", "/ws")
    async with websockets.connect(address, subprotocols=["mcp"], max_size=None) as socket:
        steps.expect(socket.subprotocol == "mcp", f"the subprotocol is {socket.subprotocol}")
        peer = Peer(socket, options.era)
        reader = asyncio.create_task(peer.receive())
        try:
            await peer.begin()
            yield peer
        finally:
            reader.cancel()


steps.main(connect)
