"""What every script does: list the tools as a model would get them, and call one of each kind.

    SCRIPT http URL TOKEN
    SCRIPT stdio COMMAND ARGUMENT...
"""

import asyncio
import re
import sys
import traceback

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# A tool of a folder, of a server that is a program, and of a server on the web. Libraries may put
# something before the name.
TOOLS = {"script": "text_note", "stdio": "legacy_note", "http": "web_note"}

TRANSPORT, ADDRESS, *ARGUMENTS = sys.argv[1:]
IS_HTTP = TRANSPORT == "http"
HEADERS = {"Authorization": f"Bearer {ARGUMENTS[0]}"} if IS_HTTP else {}


class Steps:
    """The steps so far; `names` are those that the model would get."""

    def __init__(self, names):
        self.names = sorted(names)
        self.failed = False
        bad = [name for name in self.names if not NAME.fullmatch(name)]
        missing = [tool for tool in TOOLS.values() if not self.find(tool)]
        problems = [f"`{name}` is no name for a model" for name in bad]
        problems += [f"there is no {tool} in {self.names}" for tool in missing]
        self.tell("list", "; ".join(problems) or None)

    def find(self, tool):
        return next((name for name in self.names if name.endswith(tool)), None)

    def tell(self, step, problem=None):
        self.failed = self.failed or problem is not None
        print(f"FAIL {step} {problem}" if problem else f"ok {step}", flush=True)

    def judge(self, step, result):
        self.tell(step, None if "hello" in str(result) else f"the result is {result}")


def problem_of(error):
    traceback.print_exc()
    return " ".join(repr(error).split())


async def play(names, call):
    """Plays with `names` and `await call(name, arguments)`, which gives the result in any form."""
    steps = Steps(names)
    for step, tool in TOOLS.items():
        try:
            name = steps.find(tool)
            if name:
                steps.judge(step, await call(name, {"text": "hello"}))
        except Exception as error:
            steps.tell(step, problem_of(error))
    return steps.failed


def run(script):
    """Runs `await script()`, which gives what `play` gives."""
    try:
        sys.exit(asyncio.run(script()))
    except Exception as error:
        print(f"FAIL connect {problem_of(error)}", flush=True)
        sys.exit(1)
