"""Python `mcp` 1.x or 2.x as a caller with a token: lists the tools and calls one.

    caller.py --url http://127.0.0.1:PORT/mcp --era legacy|modern [--token TOKEN]

Prints `ok REVISION TEXT`, or `refused` when the gateway does not let it in.
"""

import argparse
import asyncio
import warnings
from contextlib import asynccontextmanager

import mcp
from mcp.client.streamable_http import streamable_http_client

try:
    import httpx2 as httpx
except ImportError:
    import httpx


@asynccontextmanager
async def connect(options, client):
    """A session and its revision, whichever library this is."""
    transport = streamable_http_client(options.url, http_client=client)
    if hasattr(mcp, "Client"):
        mode = {"legacy": "legacy", "modern": "auto"}[options.era]
        async with mcp.Client(transport, mode=mode) as session:
            yield session, session.protocol_version
        return
    async with transport as (read, write, *_), mcp.ClientSession(read, write) as session:
        yield session, (await session.initialize()).protocolVersion


async def run(options, statuses):
    async def note(response):
        statuses.add(response.status_code)

    headers = {"Authorization": f"Bearer {options.token}"} if options.token else {}
    client = httpx.AsyncClient(headers=headers, event_hooks={"response": [note]})
    async with client, connect(options, client) as (session, revision):
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert "echo" in names, names
        result = await session.call_tool("echo", {"text": "hello"})
        print("ok", revision, result.content[0].text)


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--era", choices=["legacy", "modern"], required=True)
    parser.add_argument("--token")
    statuses = set()
    try:
        asyncio.run(run(parser.parse_args(), statuses))
    except Exception:
        if statuses != {401}:
            raise
        print("refused")


main()
