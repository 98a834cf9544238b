# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.gantry]
# name = "chart.bars"
# version = "1.0.0"
# title = "Bar chart"
# description = "Draws a bar chart as a PNG image. The image has no writing on it: the result tells which colour stands for what."
# read_only = true
# idempotent = true
# open_world = false
# [tool.gantry.input.properties.values]
# type = "object"
# description = "The bars from left to right: a number, not below zero, for each name."
# minProperties = 1
# maxProperties = 8
# additionalProperties = { type = "number", minimum = 0 }
# [tool.gantry.input.properties.width]
# type = "integer"
# description = "The width of the image in pixels."
# minimum = 64
# maximum = 1024
# default = 480
# [tool.gantry.input.properties.height]
# type = "integer"
# description = "The height of the image in pixels."
# minimum = 64
# maximum = 1024
# default = 320
# [tool.gantry.output.properties.width]
# type = "integer"
# [tool.gantry.output.properties.height]
# type = "integer"
# [tool.gantry.output.properties.bars]
# type = "array"
# description = "The bars from left to right."
# items.type = "object"
# items.required = ["name", "value", "color"]
# items.properties.name.type = "string"
# items.properties.value.type = "number"
# items.properties.color = { type = "string", description = "As in HTML, such as #4477aa." }
# ///
"""A bar chart as a PNG image, with nothing but the standard library."""

import base64
import json
import struct
import sys
import zlib

# Eight colours that people who see few colours can still tell apart.
COLORS = ["4477aa", "ee6677", "228833", "ccbb44", "66ccee", "aa3377", "bbbbbb", "332288"]
WHITE = b"\xff\xff\xff"
MARGIN = 8


def draw(values, width, height):
    """The rows of the image from top to bottom, three bytes a pixel."""
    slot = (width - 2 * MARGIN) // len(values)
    bar = max(1, slot * 3 // 4)
    room = height - 2 * MARGIN
    largest = max(values) or 1
    heights = [round(room * value / largest) for value in values]
    for y in range(height):
        above_ground = height - MARGIN - y
        row = bytearray(WHITE * width)
        for index, tall in enumerate(heights):
            if 0 < above_ground <= tall:
                left = 3 * (MARGIN + index * slot + (slot - bar) // 2)
                row[left : left + 3 * bar] = bytes.fromhex(COLORS[index]) * bar
        yield bytes(row)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, width, height):
    """An image of eight bits for each of red, green and blue; no row is filtered."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


arguments = json.load(sys.stdin)["arguments"]
values, width, height = arguments["values"], arguments["width"], arguments["height"]
image = png(draw(list(values.values()), width, height), width, height)
bars = [
    {"name": name, "value": value, "color": f"#{color}"}
    for (name, value), color in zip(values.items(), COLORS)
]
legend = ", ".join(f"{bar['name']} {bar['value']} ({bar['color']})" for bar in bars)
content = [
    {"type": "image", "data": base64.b64encode(image).decode(), "mimeType": "image/png"},
    {"type": "text", "text": f"from left to right: {legend}"},
]
structured = {"width": width, "height": height, "bars": bars}
print(json.dumps({"content": content, "structuredContent": structured}))
