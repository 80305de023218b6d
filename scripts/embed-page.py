#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C++ source of an HTML page, with the policy under which a browser runs its script and styles and nothing else.

usage: embed-page.py PAGE.html OUT.cpp
"""
import base64
import hashlib
import pathlib
import re
import sys


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def literal(text):
    """A string of C++ in pieces, since compilers promise no more than 64 KiB of one."""
    pieces = [text[at:at + 8000] for at in range(0, len(text), 8000)]
    return "\n".join('R"~~~(' + piece + ')~~~"' for piece in pieces)


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    script, style = (re.search(f"<{tag}>(.*?)</{tag}>", page, re.S)[1] for tag in ("script", "style"))
    policy = (f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; connect-src 'self'; img-src data:; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    pathlib.Path(sys.argv[2]).write_text(
        '#include "http/pages.hpp"\n\nnamespace tfd::http {\n\n'
        f"const std::string_view kPage =\n{literal(page)};\nconst std::string_view kPagePolicy = \"{policy}\";\n\n"
        "}  // namespace tfd::http\n", encoding="utf-8")


main()
