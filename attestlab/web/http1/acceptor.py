"""Accepts connections up to a limit, and pauses while the process has no free file descriptor."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network

from attestlab.core.addresses import IPNetwork
from attestlab.core.errors import Unavailable
from attestlab.web import logging_setup
from attestlab.web.rate_limit.client_address import is_within, rate_limit_key

PAUSE_S = 0.25
SPARE_FILES = 128  # for databases, threads and exports
MIN_CONNECTIONS = 16
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_AT_ONCE = 128  # connections accepted before the event loop runs other tasks
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_WARNING_INTERVAL_S = 60.0
_ROOM_PAUSE_S = 0.001
_RETRY_AFTER_S = 5
_TOO_MANY_DELEGATED = "The dashboards have all the connections that this server keeps for them. Try again shortly."

OnAccepted = Callable[[socket.socket, object], None]


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard limit, and return the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@dataclass
class ConnectionLimits:
    """The numbers of connections that a process accepts, in total and per address.

    Addresses in `exempt` have no limit of their own: behind a proxy, all clients have the proxy's address. A quarter
    of all connections is kept from the fallback, so that its requests never stop the application's own.
    """

    total: int
    per_address: int
    exempt: Sequence[IPNetwork] = ()
    _count: int = 0
    _delegated: int = 0
    _open: Counter[str] = field(default_factory=Counter)

    @classmethod
    def within_files(cls, files: int, *, total: int, per_address: int, exempt: Sequence[IPNetwork]) -> ConnectionLimits:
        """Derive the limits of a process that may open `files` files."""
        return cls(max(MIN_CONNECTIONS, min(total, files - SPARE_FILES)), per_address, exempt)

    @property
    def is_full(self) -> bool:
        """Whether the total is reached."""
        return self._count >= self.total

    def try_acquire(self, address: str) -> ConnectionSlot | None:
        """Count a connection from `address`, unless the address has too many."""
        place = rate_limit_key(address)
        if self._open[place] >= self.per_address and not is_within(address, self.exempt):
            return None
        return ConnectionSlot(self, place)

    def find_largest_holder(self) -> str:
        """Return the address, or /64 network, that holds the most connections."""
        return max(self._open, key=self._open.__getitem__, default="")


class ConnectionSlot:
    """The slot of one open connection within the limits."""

    def __init__(self, limits: ConnectionLimits, place: str) -> None:
        self.place = place
        self._limits = limits
        self._is_of_address = True
        limits._count += 1
        limits._open[place] += 1

    def leave_address(self) -> None:
        """Count the connection towards the total alone: an open websocket counts against its session instead."""
        if self._is_of_address:
            self._is_of_address = False
            self._limits._open[self.place] -= 1
            if not self._limits._open[self.place]:
                del self._limits._open[self.place]

    def release(self) -> None:
        """Uncount the connection, which is closed."""
        self.leave_address()
        self._limits._count -= 1

    @contextmanager
    def count_delegation(self) -> Iterator[None]:
        """Count the connection among those of the fallback while it serves a request.

        Raises:
            Unavailable: the fallback has three quarters of all connections already.
        """
        if self._limits._delegated >= self._limits.total * 3 // 4:
            raise Unavailable(_TOO_MANY_DELEGATED, retry_after_s=_RETRY_AFTER_S)
        self._limits._delegated += 1
        try:
            yield
        finally:
            self._limits._delegated -= 1


class Acceptor:
    """Accepts connections at one listening socket; pauses while a limit is reached or no file descriptor is free.

    `make_room` closes idle connections where it can, and returns whether it did. Clients that arrive during a pause
    wait in the kernel's queue. Without the pause, a connection that cannot be accepted would wake the event loop again
    and again.
    """

    def __init__(
        self,
        listening: socket.socket,
        limits: ConnectionLimits,
        on_accepted: OnAccepted,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        self._listening = listening
        self._limits = limits
        self._on_accepted = on_accepted
        self._make_room = make_room
        self._loop = asyncio.get_running_loop()
        self._resume_timer: asyncio.TimerHandle | None = None
        self._warned_at = float("-inf")
        self._loop.add_reader(listening, self._accept)

    def stop(self) -> None:
        """Stop accepting; the socket stays open."""
        if self._resume_timer is not None:
            self._resume_timer.cancel()
        self._loop.remove_reader(self._listening)

    def _accept(self) -> None:
        if self._limits.is_full:  # and a client waits
            if self._make_room():  # what was closed is uncounted in the next steps of the loop
                return self._pause_for(_ROOM_PAUSE_S)
            return self._pause(f"{self._limits.total} connections are open, the limit")
        for _ in range(_AT_ONCE):
            if self._limits.is_full:
                return None
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

    def _pause_for(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._resume_timer = self._loop.call_later(seconds, self._resume)

    def _pause(self, reason: str) -> None:
        self._pause_for(PAUSE_S)
        if self._loop.time() >= self._warned_at + _WARNING_INTERVAL_S:
            self._warned_at = self._loop.time()
            remedy = "Raise the limit of open files and ATTESTLAB_MAX_CONNECTIONS, or start more processes."
            logging_setup.log_warning("connections wait to be accepted", reason=reason, remedy=remedy)

    def _resume(self) -> None:
        self._resume_timer = None
        self._loop.add_reader(self._listening, self._accept)
