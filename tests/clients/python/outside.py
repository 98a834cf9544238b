"""A tool that needs an approval, which somebody else gives for one call and not for the next."""

from approval import attempt
from steps import expect


async def allowed(peer):
    said = await attempt(peer, "cancel", None)
    expect(said == "ran", said)


async def denied(peer):
    said = await attempt(peer, "cancel", None)
    expect("denied it" in said, said)


STEPS = {"allowed": allowed, "denied": denied}
