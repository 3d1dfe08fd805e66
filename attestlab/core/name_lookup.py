"""Look-ups of host names that no event loop waits for, and the address of a configured name server."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future
from threading import Thread
from typing import cast

NAME_SERVER_PORT = 53

# Family, kind, protocol, canonical name, and an address whose first member is its text (IPv4 and IPv6).
AddressInfo = tuple[int, int, int, str, tuple[str, *tuple[int, ...]]]


async def getaddrinfo_in_thread(
    host: bytes | str | None,
    port: bytes | str | int | None,
    *,
    family: int = 0,
    type: int = 0,
    proto: int = 0,
    flags: int = 0,
) -> list[AddressInfo]:
    """Call `socket.getaddrinfo` in a daemon thread, so that a process never waits for a name server to exit.

    Raises:
        OSError: the name is unknown, or no name server answered.
    """
    addresses: Future[list[AddressInfo]] = Future()
    addresses.set_running_or_notify_cancel()  # so that a cancelled caller does not cancel a look-up in its thread

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, family, type, proto, flags)
            addresses.set_result(cast("list[AddressInfo]", found))
        except Exception as error:
            addresses.set_exception(error)

    Thread(target=look_up, name="attestlab-look-up", daemon=True).start()
    return await asyncio.wrap_future(addresses)


def parse_name_server(server: str) -> tuple[str, int]:
    """Parse the address of a name server, with or without a port, to both.

    >>> parse_name_server("192.0.2.53"), parse_name_server("127.0.0.1:5353"), parse_name_server("[2001:db8::1]:53")
    (('192.0.2.53', 53), ('127.0.0.1', 5353), ('2001:db8::1', 53))
    """
    host, colon, port = server.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        return server, NAME_SERVER_PORT
    return host.strip("[]"), int(port)
