# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.gantry]
# name = "files.delete"
# version = "1.0.0"
# title = "Delete a file"
# description = "Deletes one file of the folder that FILES_ROOT names, for good. Without dry_run=false it only tells what it would delete. Refuses folders, and everything outside."
# destructive = true
# idempotent = false
# open_world = false
# env = { FILES_ROOT = "${FILES_ROOT:-}" }
# [tool.gantry.input]
# additionalProperties = false
# [tool.gantry.input.properties.path]
# type = "string"
# description = "The file, seen from the folder, such as drafts/old.txt."
# minLength = 1
# [tool.gantry.input.properties.dry_run]
# type = "boolean"
# description = "Whether to only tell what would be deleted."
# default = true
# [tool.gantry.output.properties.path]
# type = "string"
# description = "The file, seen from the folder."
# [tool.gantry.output.properties.bytes]
# type = "integer"
# description = "Its size."
# [tool.gantry.output.properties.deleted]
# type = "boolean"
# description = "Whether it is gone now."
# ///
"""Deletes a file, inside one folder only."""

import json
import os
import stat
import sys
from pathlib import Path


class Refusal(Exception):
    """Why nothing was deleted, in words for the model."""


def inside(root, path):
    """The place of a file that lies in the folder.

    Links on the way are followed before the place is judged. A link at its end is not: deleting
    takes the link away, not what it leads to.
    """
    given = root / path
    target = given.parent.resolve() / given.name
    if not target.is_relative_to(root):
        raise Refusal(f"{path} is outside of the folder; give a path below it, without `..`")
    try:
        mode = target.lstat().st_mode
    except OSError as problem:
        raise Refusal(f"{path} cannot be deleted: {problem.strerror}") from problem
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise Refusal(f"{path} is not a file; only files can be deleted")
    return target


def delete(path, dry_run):
    if not os.environ["FILES_ROOT"]:
        raise Refusal("nothing may be deleted yet; start the gateway with FILES_ROOT set to a folder")
    root = Path(os.environ["FILES_ROOT"]).resolve()
    target = inside(root, path)
    size = target.lstat().st_size
    if not dry_run:
        target.unlink()
    return {"path": str(target.relative_to(root)), "bytes": size, "deleted": not dry_run}


try:
    print(json.dumps(delete(**json.load(sys.stdin)["arguments"])))
except Refusal as refusal:
    # A result in the protocol's own form: the model reads the words, without an exit status.
    print(json.dumps({"content": [{"type": "text", "text": str(refusal)}], "isError": True}))
