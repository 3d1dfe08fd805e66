"""Ports whose numbers a test knows before a server listens on them, or while none does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hold_port() -> Iterator[int]:
    """Hold a port of 127.0.0.1 for servers that the test starts in the block; until then, connections are refused.

    A port that is closed again is anybody's: another test that asks for any free port may get it before the server. So
    this socket stays bound, and never listens. For ports that Linux itself chooses, of servers with port 0 as of
    clients, it passes over one that is bound. A server that names this port gets it, as often as it starts, because
    both sockets have SO_REUSEADDR and at most one listens (socket(7)); all servers of the project and its tests set it.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        yield port
