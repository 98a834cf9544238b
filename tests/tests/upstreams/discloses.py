"""A server that tells everything that it was started with, in every way that a server can."""
import json
import os
import sys

WORDS = " ".join(sys.argv[1:] + [v for k, v in sorted(os.environ.items()) if k.startswith("REVEAL")])


def say(number, member, value):
    print(json.dumps({"jsonrpc": "2.0", "id": number, member: value}), flush=True)


def tool(name):
    return {"name": name, "description": "For a test.", "inputSchema": {"type": "object"}}


print(WORDS, file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        say(number, "result", {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": WORDS, "version": WORDS},
            "instructions": WORDS,
        })
    elif method == "tools/list":
        # The second one cannot be offered, and the status says so by its name.
        broken = dict(tool(WORDS), inputSchema={"type": "array"})
        say(number, "result", {"tools": [tool(name) for name in ("error", "result", "die")] + [broken]})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "error":
            say(number, "error", {"code": -32603, "message": WORDS, "data": {"why": WORDS}})
        elif name == "result":
            say(number, "result", {"content": [{"type": "text", "text": WORDS}], "isError": True})
        else:
            sys.exit(WORDS)
    else:
        say(number, "error", {"code": -32601, "message": "unknown method " + WORDS})
