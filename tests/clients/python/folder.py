"""Python `mcp` 1.x while tools come into the folder of a running gateway, change and go.

    folder.py --transport stdio --command GANTRY --tools DIR --ready DIR
    folder.py --transport http --url http://127.0.0.1:PORT/mcp --tools DIR --ready DIR

The gateway serves the empty folder `--tools`; what a user would save there lies in `--ready`.
"""

import argparse
import asyncio
import os
import re
import shutil
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import steps
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

# The files are looked at in their own time; this only ends a run that would wait for ever.
SECONDS = 30

# For each kind of tool: its files, the program before its manifest, then how it is called.
KINDS = {
    "python": (["count.py"], "text_count", {"text": "one two three"}, {"words": r"3"}),
    "shell": (["now.sh", "now.tool.json"], "clock_now", {}, {"now": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}),
    "binary": (["processors", "processors.tool.json"], "machine_processors", {}, {"processors": r"[1-9]\d*"}),
}  # fmt: skip


class Client:
    """A session that knows when the list of tools has changed."""

    def __init__(self, tools, ready):
        self.tools, self.ready = tools, ready
        self.changed = asyncio.Event()

    async def on_message(self, message):
        if isinstance(getattr(message, "root", message), types.ToolListChangedNotification):
            self.changed.set()

    async def names(self):
        return {tool.name for tool in (await self.session.list_tools()).tools}

    async def until(self, fits):
        """Lists after each notification, and never without one, until the list fits."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            if fits(await self.names()):
                return

    async def appears(self, kind):
        files, name, arguments, expected = KINDS[kind]
        for file in files:
            shutil.copy(self.ready / file, self.tools / file)
        written = time.monotonic()
        await self.until(lambda names: name in names)
        print(f"{name} was offered {time.monotonic() - written:.3f} s after its file was written")
        result = await self.session.call_tool(name, arguments)
        steps.expect(not result.isError, f"{name} failed: {result.content}")
        print(f"{name} answered {result.structuredContent}")
        for key, pattern in expected.items():
            value = str(result.structuredContent[key])
            steps.expect(re.fullmatch(pattern, value), f"{key} is {value}")

    async def becomes_executable(self):
        """What a user does who forgot it at first: nothing but the mode of the file changes."""
        (script, _), name, *_ = KINDS["shell"]
        (self.tools / script).chmod(0o644)
        await self.until(lambda names: name not in names)
        (self.tools / script).chmod(0o755)
        await self.until(lambda names: name in names)

    async def goes(self):
        (script,), name, *_ = KINDS["python"]
        (self.tools / script).unlink()
        await self.until(lambda names: name not in names)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=["stdio", "http"], required=True)
    parser.add_argument("--command", help="path of gantry, for stdio")
    parser.add_argument("--url", help="its http://HOST:PORT/mcp, for http")
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--ready", type=Path, required=True)
    return parser.parse_args()


@asynccontextmanager
async def connect(options):
    if options.transport == "http":
        streams = streamable_http_client(options.url)
    else:
        line = ["serve", "--stdio", "--tools", str(options.tools)]
        streams = stdio_client(StdioServerParameters(command=options.command, args=line, env=dict(os.environ)))
    client = Client(options.tools, options.ready)
    async with streams as (read, write, *_):
        async with ClientSession(read, write, message_handler=client.on_message) as client.session:
            await client.session.initialize()
            yield client


async def main():
    async with connect(parse()) as client:
        steps.expect(not await client.names(), "the folder is not empty at first")
        passed = True
        for kind in KINDS:
            passed &= await steps.attempt(kind, client.appears(kind), SECONDS)
        passed &= await steps.attempt("executable", client.becomes_executable(), SECONDS)
        return passed & await steps.attempt("removed", client.goes(), SECONDS)


sys.exit(0 if asyncio.run(main()) else 1)
