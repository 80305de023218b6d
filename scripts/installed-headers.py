#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the headers to install, one path below lib/ a line: the public ones, which lib/README.md lists, and those that
they include. An error, and exit code 1, for a listed header that doesn't exist."""
import pathlib
import re
import sys

LIB = pathlib.Path(__file__).resolve().parent.parent / "lib"
HEADERS = {str(path).partition("/include/")[2]: path for path in LIB.glob("*/include/tfd/**/*.h*")}


def main() -> int:
    wanted = re.findall(r"^- `(tfd/[^`]+)`", (LIB / "README.md").read_text(), re.MULTILINE)
    missing = [name for name in wanted if name not in HEADERS]
    if missing or not wanted:
        print(f"lib/README.md lists headers that no room has: {', '.join(missing) or 'none at all'}", file=sys.stderr)
        return 1
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found and name in HEADERS:
            found.add(name)
            wanted += re.findall(r'^#include "(tfd/[^"]+)"', HEADERS[name].read_text(), re.MULTILINE)
    print("\n".join(sorted(str(HEADERS[name].relative_to(LIB)) for name in found)))
    return 0


sys.exit(main())
