"""The short script: what every client asks of each server in `tests/servers`.

`node/peers.mjs` and `rmcp/peers.rs` mirror this file.
"""

from steps import expect, expect_names

TOOLS = {"add", "ask_model", "echo", "progress"}


async def list_names(peer):
    expect_names("tools", TOOLS, await peer.tools())
    expect_names("resources", {"peer://note"}, await peer.resources())
    expect_names("prompts", {"greet"}, await peer.prompts())


async def call(peer):
    outcome = await peer.call("add", {"a": 40, "b": 2})
    expect("42" in outcome.text, f"add gave {outcome.text!r}")


async def progress(peer):
    seen = []
    await peer.call("progress", {}, seen.append)
    expect(seen == [1, 2, 3], f"progress was {seen}")


async def question(peer):
    outcome = await peer.call("ask_model", {})
    expect(outcome.text == "a kind of crane", f"ask_model gave {outcome.text!r}")


STEPS = {"list": list_names, "call": call, "progress": progress, "question": question}
