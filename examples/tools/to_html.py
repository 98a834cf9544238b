# /// script
# requires-python = ">=3.11"
# dependencies = ["markdown==3.11.3"]
# [tool.gantry]
# name = "text.to_html"
# version = "1.0.0"
# title = "Markdown to HTML"
# description = "Turns Markdown into HTML, with tables and fenced code blocks. HTML inside the Markdown is kept as it is, so clean the result before you show it to others if you do not trust the text."
# read_only = true
# idempotent = true
# open_world = false
# timeout = "60s"
# [tool.gantry.input.properties.markdown]
# type = "string"
# description = "The text in Markdown."
# maxLength = 200000
# [tool.gantry.input.properties.contents]
# type = "boolean"
# description = "Whether to begin with a table of contents made from the headings."
# default = false
# [tool.gantry.output.properties.html]
# type = "string"
# description = "A fragment of HTML, without head and body."
# [tool.gantry.output.properties.headings]
# type = "array"
# items = { type = "string" }
# description = "The headings in their order."
# ///
"""Markdown to HTML. The package is installed by uv when the tool is called for the first time."""

import html
import json
import sys

import markdown


def headings(entries):
    """The names of the headings, those below one right after it."""
    for entry in entries:
        yield html.unescape(entry["name"])
        yield from headings(entry["children"])


arguments = json.load(sys.stdin)["arguments"]
converter = markdown.Markdown(extensions=["tables", "fenced_code", "toc"], output_format="html")
fragment = converter.convert(arguments["markdown"])
if arguments["contents"]:
    fragment = converter.toc + fragment
print(json.dumps({"html": fragment, "headings": list(headings(converter.toc_tokens))}))
