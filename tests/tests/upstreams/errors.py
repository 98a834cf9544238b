"""An MCP server on standard streams, of the revision that its first argument names. Its tool fails with
the code it is asked for, or gives the result it is asked for."""
import json
import sys

REVISION = sys.argv[1]
MODERN = REVISION == "2026-07-28"
ABOUT = {"capabilities": {"tools": {}}}
TOOL = {"name": "odd", "inputSchema": {"type": "object"}}


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize" and not MODERN:
        return {"result": {"protocolVersion": REVISION, "serverInfo": {"name": "odd", "version": "1"}, **ABOUT}}
    if method == "server/discover" and MODERN:
        return {"result": {"resultType": "complete", "supportedVersions": [REVISION], **ABOUT}}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call":
        arguments = params["arguments"]
        if "result" in arguments:
            return {"result": arguments["result"]}
        return {"error": {"code": arguments["code"], "message": "it says no", "data": arguments["data"]}}
    return {"error": {"code": -32601, "message": "no such method"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
