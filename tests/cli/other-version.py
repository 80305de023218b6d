#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Listens as a task of another version of tfd's protocol would: ZMTP 3.0 without security, then a frame of version 99.

Prints its port, and ends with its stdin.
"""
import socket
import struct
import sys
import threading

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
PROPERTY = b"\x0bSocket-Type" + struct.pack(">I", 6) + b"ROUTER"
READY = b"\x05READY" + PROPERTY
FRAME = (b"\xf7TFD" + bytes([99])).ljust(48, b"\0")


def read(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def read_zmtp_frame(connection):
    flags = read(connection, 1)[0]
    size = struct.unpack(">Q", read(connection, 8))[0] if flags & 2 else read(connection, 1)[0]
    return read(connection, size)


def serve(connection):
    try:
        connection.sendall(GREETING)
        read(connection, len(GREETING))
        connection.sendall(bytes([4, len(READY)]) + READY)
        read_zmtp_frame(connection)  # its READY
        connection.sendall(bytes([0, len(FRAME)]) + FRAME)
        while True:
            read_zmtp_frame(connection)
    except (ConnectionError, OSError):
        pass


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
