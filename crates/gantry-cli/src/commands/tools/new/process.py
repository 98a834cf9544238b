#!/usr/bin/env python3
"""Counts the words of a text. What it takes and gives is in module_tool.tool.json."""

import json
import os
import sys

# One line of JSON comes in: {"arguments": {"text": "..."}}
arguments = json.load(sys.stdin)["arguments"]

# While it works a tool may write lines to this descriptor; clients see them as progress.
with os.fdopen(int(os.environ["GANTRY_NOTICES"]), "w") as notices:
    print(json.dumps({"progress": 1, "total": 1, "message": "counting"}), file=notices)

# One line of JSON goes out; everything else belongs on standard error.
print(json.dumps({"words": len(arguments["text"].split())}))
