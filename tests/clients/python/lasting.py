"""A tool that its user grants for good, in a session or without one."""

from approval import attempt
from steps import expect


async def always(peer):
    said = await attempt(peer, "accept", {"decision": "always allow this tool"})
    expect(said == "ran", said)


async def again(peer):
    said = await attempt(peer, "cancel", None)
    expect(said == "ran", f"nobody is asked again: {said}")


STEPS = {"always": always, "again": again}
