"""Commands whose standard output is closed, full or no longer read."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from support.fork_server import run_with

BROKEN_PIPE = -signal.SIGPIPE  # a shell reports 141
FULL = "attestlab: Standard output cannot be written: [Errno 28] No space left on device\n"
CLOSED = "attestlab: Standard output cannot be written: it is closed\n"


def run(arguments: list[str], stdout: int | None) -> tuple[int, str]:
    """Run a command with this stdout, None for a closed one; its exit status, and what it said on stderr."""
    with open(os.devnull) as nothing:
        return run_with((nothing.fileno(), stdout), *arguments)


def into_full(arguments: list[str]) -> tuple[int, str]:
    """As with `> /dev/full`."""
    with Path("/dev/full").open("w") as full:
        return run(arguments, full.fileno())


def into_closed(arguments: list[str]) -> tuple[int, str]:
    """As with `>&-`."""
    return run(arguments, None)


def into_broken_pipe(arguments: list[str]) -> tuple[int, str]:
    """As with `| head -c0`, once head has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return run(arguments, writing)
    finally:
        os.close(writing)
