"""A server without an SDK whose tools and prompts are described by a file, which it reads for every
list. Each call of `look` tells its client that the lists have changed."""

import json
import pathlib
import sys

FILE = pathlib.Path(sys.argv[1])


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(method, params):
    if method == "initialize":
        listed = {"listChanged": True}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": listed, "prompts": listed},
            "serverInfo": {"name": "changing", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": json.loads(FILE.read_text())}
    if method == "prompts/list":
        return {"prompts": []}
    if method == "tools/call":
        if params["name"] == "look":
            send({"method": "notifications/tools/list_changed"})
        text = f"{params['name']} {json.dumps(params.get('arguments', {}), sort_keys=True)}"
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
    else:
        send({"id": message["id"], "result": result})
