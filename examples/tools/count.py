# /// script
# [tool.gantry]
# name = "text.count"
# version = "1.0.0"
# description = "Counts the words of a text."
# input.properties.text.type = "string"
# output.properties.words.type = "integer"
# ///
import json, sys
print(json.dumps({"words": len(json.load(sys.stdin)["arguments"]["text"].split())}))
