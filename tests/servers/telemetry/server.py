"""A server on the Python SDK 2.x that traces its calls itself, over stdio."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from tracing import trace_to_collector

trace_to_collector("server")
server = MCPServer("traced")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def told(ctx: Context) -> dict:
    """What the call says of its trace."""
    meta = ctx.request_context.meta or {}
    return {key: meta[key] for key in ("traceparent", "tracestate", "baggage") if key in meta}


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("as it should")


if __name__ == "__main__":
    server.run("stdio")
