# /// script
# requires-python = ">=3.11"
# # Packages that the tool needs; uv installs them on the first call.
# dependencies = []
#
# [tool.gantry]
# name = "module.tool"
# version = "0.1.0"
# # What the model reads to decide whether to call this tool.
# description = "Counts the words of a text."
# # Say `destructive = true` instead when a call may destroy something.
# read_only = true
# timeout = "10s"
#
# # What it takes. An argument with a `default` may be left out.
# [tool.gantry.input.properties.text]
# type = "string"
# description = "The text."
#
# # What it gives; every result is checked against this.
# [tool.gantry.output.properties.words]
# type = "integer"
# description = "How many words it has."
# ///
import json
import sys

# One line of JSON comes in: {"arguments": {"text": "..."}}
arguments = json.load(sys.stdin)["arguments"]

words = len(arguments["text"].split())

# Anything on standard error is for people; it is shown when the tool fails.
print(f"counted {words} words", file=sys.stderr)

# One line of JSON goes out.
print(json.dumps({"words": words}))
