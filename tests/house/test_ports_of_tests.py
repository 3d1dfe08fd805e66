"""A port that a test holds is given to no process that asks for any port, and to each server that names it."""

from __future__ import annotations

import socket
import struct

import pytest
from tornado.netutil import bind_sockets

from support.ports import hold_port

IP_LOCAL_PORT_RANGE = 51  # ip(7)
PORTS = 5  # another program may really get one in the meantime


def can_limit_the_choice() -> bool:
    with socket.socket() as probe:
        try:
            return probe.getsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE) == 0
        except OSError:
            return False


pytestmark = pytest.mark.skipif(not can_limit_the_choice(), reason="a socket has no range of ports before Linux 6.3")


def release_port() -> int:
    """A port that was held, and that nothing keeps from other programs."""
    with hold_port() as port:
        return port


def choose_among(port: int, *, reuse: bool = False) -> socket.socket:
    """A socket for which the kernel has only this port to choose."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
    opened.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE, struct.pack("I", port << 16 | port))
    return opened


def is_given(port: int, *, reuse: bool) -> bool:
    """Whether another program may get the port by chance, as a server or as a client."""
    with (
        choose_among(port, reuse=reuse) as server,
        choose_among(port) as client,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        for ask in (lambda: server.bind(("127.0.0.1", 0)), lambda: client.connect(other.getsockname())):
            try:
                ask()
            except OSError:
                continue
            return True
    return False


@pytest.mark.parametrize("reuse", [False, True])
def test_kernel_gives_a_held_port_to_no_one_who_asks_for_any(reuse: bool) -> None:
    with hold_port() as port:
        assert not is_given(port, reuse=reuse)

    assert any(is_given(release_port(), reuse=reuse) for _ in range(PORTS)), "the kernel has nothing to choose"


def test_server_that_names_a_held_port_gets_it_as_often_as_it_starts() -> None:
    with hold_port() as port:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                pass
            (listening,) = bind_sockets(port, "127.0.0.1")
            with listening, socket.create_connection(("127.0.0.1", port)):
                listening.settimeout(None)
                listening.accept()[0].close()  # first, so that the port is left in TIME_WAIT
            assert not is_given(port, reuse=True)
