"""Accepts connections up to a limit, and pauses while the process has no free file descriptor."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network

from attestlab.web import logging_setup
from attestlab.web.rate_limit.client_address import IPNetwork, is_within, rate_limit_key

PAUSE_S = 0.25
SPARE_FILES = 128  # for databases, threads and exports
MIN_CONNECTIONS = 16
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_AT_ONCE = 128  # connections accepted before the event loop runs other tasks
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_WARNING_INTERVAL_S = 60.0

OnAccepted = Callable[[socket.socket, object], None]


def raise_file_limit() -> int:
    """Raises the soft limit of open files to the hard limit, and returns the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@dataclass
class ConnectionLimits:
    """The numbers of connections that a process accepts, in total and per address.

    Addresses in `exempt` have no limit of their own: behind a proxy, all clients have the proxy's address.
    """

    total: int
    per_address: int
    exempt: Sequence[IPNetwork] = ()
    _open: Counter[str] = field(default_factory=Counter)

    @classmethod
    def within_files(cls, files: int, *, total: int, per_address: int, exempt: Sequence[IPNetwork]) -> ConnectionLimits:
        """Derives the limits of a process that may open `files` files."""
        return cls(max(MIN_CONNECTIONS, min(total, files - SPARE_FILES)), per_address, exempt)

    @property
    def is_full(self) -> bool:
        """Whether the total is reached."""
        return self._open.total() >= self.total

    def try_acquire(self, address: str) -> bool:
        """Counts a connection from `address` unless the address has too many; returns whether it was counted."""
        place = rate_limit_key(address)
        if self._open[place] >= self.per_address and not is_within(address, self.exempt):
            return False
        self._open[place] += 1
        return True

    def release(self, address: str) -> None:
        """Uncounts a closed connection."""
        place = rate_limit_key(address)
        self._open[place] -= 1
        if not self._open[place]:
            del self._open[place]


class Acceptor:
    """Accepts connections at one listening socket; pauses while a limit is reached or no file descriptor is free.

    Clients that arrive during a pause wait in the kernel's queue. Without the pause, a connection that cannot be
    accepted would wake the event loop again and again.
    """

    def __init__(self, listening: socket.socket, limits: ConnectionLimits, on_accepted: OnAccepted) -> None:
        self._listening = listening
        self._limits = limits
        self._on_accepted = on_accepted
        self._loop = asyncio.get_running_loop()
        self._resume_timer: asyncio.TimerHandle | None = None
        self._warned_at = float("-inf")
        self._loop.add_reader(listening, self._accept)

    def stop(self) -> None:
        """Stops accepting; the socket stays open."""
        if self._resume_timer is not None:
            self._resume_timer.cancel()
        self._loop.remove_reader(self._listening)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            if self._limits.is_full:
                return self._pause(f"{self._limits.total} connections are open, the limit")
            try:
                connection, address = self._listening.accept()
            except BlockingIOError:
                return None
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in _NO_FILES:
                    raise
                return self._pause(str(error))
            self._on_accepted(connection, address)
        return None

    def _pause(self, reason: str) -> None:
        self._loop.remove_reader(self._listening)
        self._resume_timer = self._loop.call_later(PAUSE_S, self._resume)
        if self._loop.time() >= self._warned_at + _WARNING_INTERVAL_S:
            self._warned_at = self._loop.time()
            remedy = "Raise the limit of open files and ATTESTLAB_MAX_CONNECTIONS, or start more processes."
            logging_setup.log_warning("connections wait to be accepted", reason=reason, remedy=remedy)

    def _resume(self) -> None:
        self._resume_timer = None
        self._loop.add_reader(self._listening, self._accept)
