"""A tool that needs an approval, and a user of the client who is asked for it."""

import os

from steps import Refused, expect

TOOL = os.environ.get("GANTRY_TOOL", "file.wipe")


async def attempt(peer, action, content):
    """What comes of a call whose user answers like this: its text, or why it was refused."""
    peer.elicitation = (action, content)
    try:
        outcome = await peer.call(TOOL, {"path": action})
    except Refused as refused:
        return f"refused: {refused}"
    return f"refused: {outcome.text}" if outcome.failed else "ran"


async def allowed(peer):
    said = await attempt(peer, "accept", {"decision": "allow once"})
    expect(said == "ran", said)


async def denied(peer):
    for action, content in [("accept", {"decision": "deny"}), ("decline", None)]:
        said = await attempt(peer, action, content)
        expect("denied it" in said, f"{action}: {said}")


async def dismissed(peer):
    """A user who gives no answer has not denied anything."""
    said = await attempt(peer, "cancel", None)
    expect("nobody has approved it yet" in said and "gantry approve" in said, said)


async def session(peer):
    """A session can be granted where there is one; a call that stands alone has none."""
    said = await attempt(peer, "accept", {"decision": "allow for this session"})
    if peer.era == "modern":
        expect("denied it" in said, said)
        return
    expect(said == "ran", said)
    said = await attempt(peer, "cancel", None)
    expect(said == "ran", f"nobody is asked again: {said}")


STEPS = {"allowed": allowed, "denied": denied, "dismissed": dismissed, "session": session}
