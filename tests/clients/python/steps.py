"""The common script: what every client asks of the `everything` server.

Each peer (a thin layer over one client library) offers the same few methods, so
the steps are written once; `node/steps.mjs` and `rmcp/steps.rs` mirror this file.
"""

import asyncio
import importlib
import os
import re
import sys
from contextlib import AsyncExitStack

STEP_SECONDS = 10
ROOT = "file:///workspace/gantry"
WATCHED = "test://watched-resource"
INVALID_PARAMS = -32602

TOOLS = {
    "echo", "add", "test_tool_with_progress", "test_error_handling", "test_elicitation",
    "test_sampling", "test_roots", "test_slow", "test_slow_status",
    "test_trigger_resource_update", "test_trigger_tool_change",
}  # fmt: skip
RESOURCES = {"test://static-text", "test://static-binary", WATCHED}
TEMPLATES = {"test://template/{id}/data"}
PROMPTS = {"test_simple_prompt", "test_prompt_with_arguments"}


class Refused(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code, message):
        super().__init__(f"{code} {message}")
        self.code = code


class Outcome:
    """What a tool call gave: its text, its structured content, and whether it failed."""

    def __init__(self, text, structured, failed):
        self.text, self.structured, self.failed = text, structured, failed


def expect(condition, reason):
    """Fails the step, saying why, unless the condition holds."""
    if not condition:
        raise AssertionError(reason)


def expect_names(kind, wanted, found):
    """Fails the step if a wanted name is missing."""
    missing = wanted - set(found)
    expect(not missing, f"{kind} lack {sorted(missing)}")


async def list_names(peer):
    expect_names("tools", TOOLS, await peer.tools())
    expect_names("resources", RESOURCES, await peer.resources())
    expect_names("templates", TEMPLATES, await peer.templates())
    expect_names("prompts", PROMPTS, await peer.prompts())


async def call(peer):
    text = "Grüße, 世界 🏗️"
    outcome = await peer.call("echo", {"text": text})
    expect(outcome.text == text, f"echo gave {outcome.text!r}")


async def structured(peer):
    outcome = await peer.call("add", {"a": 2, "b": 40.5})
    expect(outcome.structured == {"sum": 42.5}, f"add gave {outcome.structured}")


async def progress(peer):
    seen = []
    await peer.call("test_tool_with_progress", {}, seen.append)
    expect(len(seen) == 3 and seen == sorted(set(seen)), f"progress was {seen}")


async def error(peer):
    outcome = await peer.call("test_error_handling", {})
    expect(outcome.failed, "test_error_handling did not set isError")
    try:
        outcome = await peer.call("no_such_tool", {})
    except Refused as refused:
        expect(refused.code == INVALID_PARAMS, f"an unknown tool gave {refused}")
        return
    raise AssertionError(f"an unknown tool gave a result: {outcome.text!r}")


async def validation(peer):
    try:
        outcome = await peer.call("add", {"a": 1, "b": "two"})
        expect(outcome.failed, "a wrong type was accepted")
        message = outcome.text
    except Refused as refused:
        message = str(refused)
    expect(re.search(r"\bb\b", message), f"the argument b is not named in {message!r}")


async def resource(peer):
    text = await peer.read("test://static-text")
    expect(text == "This is the content of the static text resource.", f"static text is {text!r}")
    text = await peer.read("test://template/42/data")
    expect("Data for ID: 42" in text, f"the template gave {text!r}")


async def subscribe(peer):
    async with peer.watch(WATCHED) as notices:
        await peer.call("test_trigger_resource_update", {})
        while (notice := await notices.get()) != f"updated {WATCHED}":
            expect(not notice.startswith("updated"), f"got {notice}")


async def prompt(peer):
    text = await peer.prompt("test_prompt_with_arguments", {"arg1": "hello", "arg2": "wörld"})
    expect(text == "Prompt with arguments: arg1='hello', arg2='wörld'", f"the prompt is {text!r}")


async def completion(peer):
    values = await peer.complete("test_prompt_with_arguments", "arg1", "par")
    expect(values == ["paris", "park", "party"], f"the values are {values}")


async def elicitation(peer):
    peer.elicitation = ("accept", {"username": "ada", "email": "ada@example.com"})
    outcome = await peer.call("test_elicitation", {"message": "Who are you?"})
    expect("accept" in outcome.text and "ada@example.com" in outcome.text, f"accepted: {outcome.text!r}")
    peer.elicitation = ("decline", None)
    outcome = await peer.call("test_elicitation", {"message": "Who are you?"})
    expect("decline" in outcome.text, f"declined: {outcome.text!r}")


async def sampling(peer):
    outcome = await peer.call("test_sampling", {"prompt": "What is a gantry?"})
    expect("a kind of crane" in outcome.text, f"test_sampling gave {outcome.text!r}")


async def roots(peer):
    outcome = await peer.call("test_roots", {})
    expect(outcome.text == ROOT, f"test_roots gave {outcome.text!r}")


async def logging(peer):
    # The two eras opt in to log messages in different ways: a session sets its
    # level once, a stateless client says it with each request.
    tool = "test_tool_with_logging" if peer.era == "legacy" else "test_logging_tool"
    await peer.set_level("debug")
    await peer.call(tool, {})
    await peer.logs.get()


async def cancel(peer):
    async def cancelled():
        return (await peer.call("test_slow_status", {})).structured["cancelled"]

    before = await cancelled()
    await peer.call_then_cancel("test_slow", {"seconds": 30})
    # The status call is the wait: each round trip lets the server go on, and
    # the limit of the step bounds it.
    while await cancelled() <= before:
        pass


async def list_changed(peer):
    async with peer.watch(WATCHED) as notices:
        await peer.call("test_trigger_tool_change", {})
        while await notices.get() != "tools changed":
            pass


async def ping(peer):
    await peer.ping()


STEPS = {
    "list": list_names,
    "call": call,
    "structured": structured,
    "progress": progress,
    "error": error,
    "validation": validation,
    "resource": resource,
    "subscribe": subscribe,
    "prompt": prompt,
    "completion": completion,
    "elicitation": elicitation,
    "sampling": sampling,
    "roots": roots,
    "logging": logging,
    "cancel": cancel,
    "list_changed": list_changed,
    "ping": ping,
}


def chosen():
    """The steps to play: another script if GANTRY_SCRIPT names one."""
    script = os.environ.get("GANTRY_SCRIPT")
    if script in ("approval", "lasting", "outside", "peers"):
        # It takes its tools from here, so it cannot be imported before this file is read.
        return importlib.import_module(script).STEPS
    return STEPS


def describe(problem):
    """One line about an exception, looking into groups for the first cause."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, TimeoutError):
        return f"nothing came in time {problem}".rstrip()
    reason = str(problem) if isinstance(problem, AssertionError | Refused) else repr(problem)
    return " ".join(reason.split())


async def attempt(name, awaitable, seconds=STEP_SECONDS):
    """Runs one step within its time and prints how it went."""
    try:
        async with asyncio.timeout(seconds):
            await awaitable
    except Exception as problem:
        print(f"FAIL {name} {describe(problem)}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True


async def play(connect):
    """Connects, tries every step the peer has, and closes; true if all went well."""
    async with AsyncExitStack() as stack:
        peer = None

        async def enter():
            nonlocal peer
            peer = await stack.enter_async_context(connect())

        if not await attempt("connect", enter()):
            return False
        passed = True
        for name, step in chosen().items():
            if name not in peer.lacks:
                passed &= await attempt(name, step(peer))
        return await attempt("close", stack.aclose()) and passed


def main(connect):
    """Plays the script and ends the process with its verdict."""
    sys.exit(0 if asyncio.run(play(connect)) else 1)
