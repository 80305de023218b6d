#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a pseudo-terminal, stdin included, and prints what is left on the screen. It has 100 columns, or TFD_COLUMNS.

    terminal.py TERM COMMAND ARG…      TERM "-": unset

With TFD_RAW set it prints the bytes themselves. With TFD_CLOSE_AT=TEXT the terminal is closed once TEXT was written to it.
Ends with the command's exit code, 128+N for signal N.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import termios


def screen(text):
    """The text after carriage returns, erased lines and newlines; lines don't wrap here."""
    lines, column = [""], 0
    for piece in re.findall(r"\x1b\[K|\r|\n|[^\x1b\r\n]+|\x1b", text):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            lines.append("")
        elif piece == "\x1b[K":
            lines[-1] = lines[-1][:column]
        else:
            lines[-1] = lines[-1][:column] + piece + lines[-1][column + len(piece) :]
            column += len(piece)
    return "\n".join(lines)


pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(os.environ.get("TFD_COLUMNS", "100")), 0, 0))
    os.environ.pop("TERM", None)
    if sys.argv[1] != "-":
        os.environ["TERM"] = sys.argv[1]
    os.execvp(sys.argv[2], sys.argv[2:])
written = b""
close_at = os.environ.get("TFD_CLOSE_AT", "").encode()
while not (close_at and close_at in written):
    try:
        piece = os.read(master, 65536)
    except OSError:  # EIO: the command has ended
        break
    if not piece:
        break
    written += piece
if close_at:
    os.close(master)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
code = code if code >= 0 else 128 - code
text = written.decode()
print(text if "TFD_RAW" in os.environ else screen(text), end="")
sys.exit(code)
