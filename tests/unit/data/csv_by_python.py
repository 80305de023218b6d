#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what Python's csv module reads of files: for each line of stdin, {"path", "delimiter", "quotes"}, a line
{"rows": [[...], ...], "closed": bool}. "closed": no quote is left open at the end."""
import csv
import io
import json
import sys


def rows_of(text, asked):
    quoting = csv.QUOTE_MINIMAL if asked["quotes"] else csv.QUOTE_NONE
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=asked["delimiter"], quoting=quoting))


for line in sys.stdin:
    one = json.loads(line)
    with open(one["path"], newline="", encoding="ascii") as file:
        content = file.read()
    beyond = rows_of(content + "\nend\n", one)
    print(json.dumps({"rows": rows_of(content, one), "closed": bool(beyond) and beyond[-1] == ["end"]}))
