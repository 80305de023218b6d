#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a page in docs/ from top to bottom, in the working directory, as a reader types them.

    run-page.py PAGE [--only HEADING]… [--check EXPRESSION]

Its ```python blocks share one session, this one. Its ```sh blocks run in bash. A block is passed over below another heading than
those of --only, and where a line <!-- needs: NAME --> above it names what TFD_HAVE_NAME=1 doesn't say is here. At the end EXPRESSION
must be true in the session. Exits with 1 if a block fails, or if none was run.
"""
import argparse
import os
import re
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("page")
parser.add_argument("--only", action="append", default=[])
parser.add_argument("--check", default="True")
args = parser.parse_args()

session, heading, ran = {}, "", {"python": 0, "sh": 0}
pieces = re.finditer(r"^#+ (?P<heading>[^\n]*)$|(?:^<!-- needs: (?P<needs>[^\n]*) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", open(args.page).read(), re.M | re.S)
for piece in pieces:
    if piece["heading"]:
        heading = piece["heading"]
        continue
    lacking = [need for need in (piece["needs"] or "").split() if os.environ.get(f"TFD_HAVE_{need.upper()}") != "1"]
    if piece["kind"] not in ran or lacking or args.only and heading not in args.only:
        continue
    print(f"--- {heading}\n{piece['text']}", flush=True)
    if piece["kind"] == "python":
        exec(compile(piece["text"], args.page, "exec"), session)
    else:
        subprocess.run(["timeout", "400", "bash", "-euo", "pipefail", "-c", piece["text"]], check=True, stdin=subprocess.DEVNULL)
    ran[piece["kind"]] += 1
print(ran)
assert all(ran.values()) and eval(args.check, session), args.check
