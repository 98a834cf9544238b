# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.gantry]
# name = "files.hash"
# version = "1.0.0"
# title = "Hash a folder"
# description = "Computes a checksum of every file in a folder and in the folders below it. Use it to find files that are equal, or that changed since the last time. Links are passed over."
# read_only = true
# idempotent = true
# open_world = false
# timeout = "5m"
# [tool.gantry.input.properties.folder]
# type = "string"
# description = "The folder, as an absolute path."
# pattern = "^/"
# [tool.gantry.input.properties.algorithm]
# enum = ["sha256", "sha512", "blake2b", "md5"]
# description = "The kind of checksum. md5 finds accidents, not attacks."
# default = "sha256"
# [tool.gantry.input.properties.most]
# type = "integer"
# description = "How many files to hash at most, in the order of their paths."
# minimum = 1
# maximum = 2000
# default = 500
# [tool.gantry.output.properties.files]
# type = "object"
# description = "The checksum for each path, seen from the folder."
# additionalProperties = { type = "string" }
# [tool.gantry.output.properties.left_out]
# type = "integer"
# description = "How many files were not hashed: beyond the limit, or unreadable."
# ///
"""Checksums of a folder, with one notice of progress for each file."""

import hashlib
import json
import os
import sys
from pathlib import Path

notices = os.fdopen(int(os.environ["GANTRY_NOTICES"]), "w", buffering=1)


def tell(**notice):
    """One line on the descriptor for notices: the client sees it while the call goes on."""
    print(json.dumps(notice), file=notices)


def checksum(path, algorithm):
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


arguments = json.load(sys.stdin)["arguments"]
folder = Path(arguments["folder"])
if not folder.is_dir():
    sys.exit(f"there is no folder {folder}; give the absolute path of one")
found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
chosen = found[: arguments["most"]]
files = {}
for number, path in enumerate(chosen, start=1):
    name = str(path.relative_to(folder))
    try:
        files[name] = checksum(path, arguments["algorithm"])
    except OSError as problem:
        tell(log=f"{name} was left out: {problem.strerror}", level="warning")
    tell(progress=number, total=len(chosen), message=name)
print(json.dumps({"files": files, "left_out": len(found) - len(files)}))
