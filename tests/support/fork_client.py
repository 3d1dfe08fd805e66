"""Runs `attestlab ...` of a shell in a process that the fork server forks: it starts in a twentieth of a second.

It loads little itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence

LENGTH = struct.Struct(">Q")


def ask(address: str, wish: dict[str, object], streams: Sequence[int] = ()) -> str:
    """Send one message with file descriptors to a fork server; return its line."""
    message = json.dumps(wish).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [LENGTH.pack(len(message))], streams)
        connection.sendall(message)
        with connection.makefile("r") as answer:
            return answer.readline()


def main(address: str, *arguments: str) -> None:
    """Run a command to its end with the streams of this process, and end as it does."""
    wish = {"do": "attestlab", "arguments": arguments, "is_traced": False, "folder": os.getcwd()}
    pid = int(ask(address, {**wish, "environment": dict(os.environ), "open": [True] * 3}, (0, 1, 2)))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: os.kill(pid, received))
    ended = os.pidfd_open(pid)
    select.select([ended], [], [])
    while (code := json.loads(ask(address, {"poll": pid}))) is None:
        time.sleep(0.002)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main("\0" + sys.argv[1], *sys.argv[2:])
