"""The command line that every Python script of this folder takes."""

import argparse
from urllib.parse import urlsplit, urlunsplit


def parse(transports, eras):
    """Reads `--transport`, `--command` or `--url`, and `--era`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=transports, required=True)
    parser.add_argument("--command", help="path of the everything server, for stdio")
    parser.add_argument("--url", help="its http://HOST:PORT/mcp, for the other transports")
    parser.add_argument("--era", choices=eras, default=eras[0])
    options = parser.parse_args()
    if (options.command if options.transport == "stdio" else options.url) is None:
        parser.error("give --command for stdio and --url for the other transports")
    return options


def door(url, scheme, path):
    """The address of another door of the same server: `/sse` or `/ws`."""
    return urlunsplit((scheme, urlsplit(url).netloc, path, "", ""))
