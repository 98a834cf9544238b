# /// script
# requires-python = ">=3.9"
# dependencies = []
# [tool.gantry]
# name = "bench.echo"
# version = "1.0.0"
# description = "Gives its text back."
# standby = true
# answer = "end"
# [tool.gantry.input.properties.text]
# type = "string"
# [tool.gantry.output.properties.text]
# type = "string"
# ///
"""The tool that is measured, in Python; with an argument it goes on until its input ends."""

import json
import sys


def answer(line):
    text = json.loads(line)["arguments"]["text"]
    block = {"type": "text", "text": text}
    print(json.dumps({"content": [block], "structuredContent": {"text": text}}), flush=True)


for line in sys.stdin:
    answer(line)
    if len(sys.argv) < 2:
        break
