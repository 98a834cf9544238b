"""A small MCP server on standard streams. Its first argument is its era."""
import json
import os
import sys

MODERN = sys.argv[1] == "modern"
TOOLS = ["echo", "grow", "die", "ask", "fail", "link", "touch", "process", "page", "work", "speak", "ended", "toil"]
RESOURCES = ["x:shared", "x:" + sys.argv[2]]
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {}, "completions": {}, "logging": {},
                "resources": {"subscribe": True, "listChanged": True}}
QUIET = sys.argv[1] == "quiet"
if QUIET:
    CAPABILITIES["tools"] = {}
if not MODERN:
    CAPABILITIES["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
polls = {}
watched = set()
asked = 0


def write(message):
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def notify(method, params=None):
    write({"jsonrpc": "2.0", "method": method, "params": params or {}})


def text(value):
    return {"content": [{"type": "text", "text": str(value)}]}


def tool(name):
    schema = {"type": "object", "properties": {"n": {"type": "number", "default": 7}}}
    definition = {"name": name, "inputSchema": schema, "x-vendor": 1.5}
    if name == "toil" and not MODERN:
        definition["execution"] = {"taskSupport": "required"}
    return definition


def ask(params, times=1):
    """Asks the client over the connection, and waits for what it says to the last question."""
    global asked
    waits = set()
    for number in range(times):
        asked += 1
        waits.add("q%d" % asked)
        hinted = dict(params, _meta=dict(params.get("_meta", {}), **{"gantry/key": "k%d" % number}))
        write({"jsonrpc": "2.0", "id": "q%d" % asked, "method": "elicitation/create", "params": hinted})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") in waits and "method" not in message:
            waits.remove(message["id"])
            if not waits:
                return message


class Fault(Exception):
    pass


def call(line, params):
    name, arguments = params["name"], params.get("arguments", {})
    if name == "echo":
        return text(line[line.index('"params"'):])
    if name == "grow":
        if "GROWN" in os.environ:
            open(os.environ["GROWN"], "w").close()
        TOOLS.append("grown")
        if not QUIET:
            notify("notifications/tools/list_changed")
        return text("grown")
    if name == "die":
        print("my last words", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "ask":
        if MODERN:
            answers = params.get("inputResponses")
            if answers is None:
                question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}
                return {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "mine"}
            return text(answers["q"]["action"] + " " + params["requestState"])
        question = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        answer = ask(question, arguments.get("n", 1))
        if "error" in answer:
            return dict(text("nobody answers"), isError=True)
        return text(answer["result"]["action"])
    if name == "fail":
        raise Fault(arguments.get("code", -32000), "the key is " + os.environ.get("KEY", "none"), {"n": 1})
    if name == "link":
        return {"content": [{"type": "resource_link", "uri": "x:shared", "name": "s"}]}
    if name == "touch":
        if MODERN or "x:shared" in watched:
            notify("notifications/resources/updated", {"uri": "x:shared", "metadata": {"process": os.getpid()}})
        return text("touched")
    if name == "process":
        print("I am", os.getpid(), file=sys.stderr, flush=True)
        return text(os.getpid())
    if name == "page":
        if polls.setdefault("page", 0):
            return text("seen")
        polls["page"] = 1
        page = {"mode": "url", "elicitationId": "1", "url": "http://localhost/", "message": "look"}
        raise Fault(-32042, "look first", {"elicitations": [page]})
    if name == "work" and MODERN and "extensions" not in params["_meta"]["io.modelcontextprotocol/clientCapabilities"]:
        raise Fault(-32021, "tasks only", {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}})
    if name == "work":
        polls["work"] = 0
        return {"resultType": "task", "taskId": "work", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None, "pollIntervalMs": 20}
    if name == "toil":
        if "task" not in params:
            raise Fault(-32601, "as a task only", None)
        if "n" in arguments:
            created = {"taskId": "short", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
            return {"task": created, "_meta": {"gantry/runs-long": False}}
        return {"task": {"taskId": "toil", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None, "pollInterval": 20}}
    if name == "ended":
        return text(polls.get("ended"))
    if name == "speak":
        token = params["_meta"]["progressToken"]
        notify("notifications/progress", {"progressToken": token, "progress": 1, "x": 1.5})
        return text("spoken")
    raise Fault(-32602, "no tool " + name, None)


def task(method, params):
    if method == "tasks/cancel":
        polls["ended"] = params["taskId"]
        return {}
    if params["taskId"] == "short":
        ended = {"taskId": "short", "status": "completed", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
        return ended if method == "tasks/get" else text("short")
    if params["taskId"] == "toil" and method == "tasks/get":
        return {"taskId": "toil", "status": "input_required", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
    if method == "tasks/result":
        meta = {"io.modelcontextprotocol/related-task": {"taskId": params["taskId"]}}
        answer = ask({"message": "?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": meta})
        return dict(text("toiled " + answer["result"]["action"]), _meta=meta)
    if method == "tasks/update":
        polls["answer"] = params["inputResponses"]["k"]["action"]
        return {}
    polls["work"] += 1
    known = {"taskId": "work", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None, "pollIntervalMs": 20}
    if "answer" in polls:
        return dict(known, status="completed", result=text("worked " + polls["answer"]))
    if polls["work"] < 2:
        return dict(known, status="working", statusMessage="half done")
    question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}
    return dict(known, status="input_required", inputRequests={"k": question})


def answer(line, message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize" and not MODERN:
        return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": {"name": "peer", "version": "1"}, "instructions": "use " + sys.argv[2]}
    if method == "server/discover" and MODERN:
        return {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, "instructions": "use " + sys.argv[2]}
    if method == "tools/list":
        if os.path.exists(os.environ.get("GROWN", "")) and "grown" not in TOOLS:
            TOOLS.append("grown")
        return {"tools": [tool(name) for name in TOOLS]}
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": uri} for uri in RESOURCES]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "t:{id}", "name": "t"}]}
    if method == "prompts/list":
        return {"prompts": [{"name": "hello"}]}
    if method == "tools/call":
        return call(line, params)
    if method == "resources/read":
        if params["uri"].startswith("t:0"):
            raise Fault(-32002, "nothing there", None)
        return {"contents": [{"uri": params["uri"], "text": sys.argv[2]}]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": params["name"] + " " + sys.argv[2]}}]}
    if method == "completion/complete":
        return {"completion": {"values": [json.dumps(params["ref"], sort_keys=True)]}}
    if method.startswith("tasks/"):
        return task(method, params)
    if method == "resources/subscribe":
        watched.add(params["uri"])
    if method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping"):
        return {}
    raise Fault(-32601, "no method " + method, None)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    if message["method"] == "subscriptions/listen":
        meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        notify("notifications/subscriptions/acknowledged", {"notifications": {}, "_meta": meta})
        continue
    try:
        result = answer(line, message)
        if MODERN:
            result.setdefault("resultType", "complete")
        write({"jsonrpc": "2.0", "id": message["id"], "result": result})
    except Fault as fault:
        code, reason, data = fault.args
        write({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": reason, "data": data}})
