"""HTTP requests as bytes, and a connection that sends exactly those bytes."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from support.timeouts import WAIT_TIMEOUT_S

WRITER_KEY = "key-of-a-writer"


@dataclass
class RawAnswer:
    """A response as it came over the connection."""

    status: int
    headers: dict[str, str]
    body: bytes


class RawConnection:
    """A client that sends exactly the given bytes."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> RawConnection:
        self.socket.sendall(data)
        return self

    def response(self, *, without_body: bool = False) -> RawAnswer:
        """The next response; ConnectionError where the connection ends before it."""
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (text.split(": ", 1) for text in fields)}
        length = 0 if without_body else int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            self._more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return RawAnswer(int(line.split(" ")[1]), headers, body)

    def read(self, count: int) -> bytes:
        """The next bytes, which are no HTTP."""
        while len(self._buffer) < count:
            self._more()
        piece, self._buffer = self._buffer[:count], self._buffer[count:]
        return piece

    def ended(self) -> bool:
        """Whether the server closes, with nothing more to say."""
        try:
            return not self._buffer and self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"closed after {self._buffer!r}")
        self._buffer += data


def post_request(path: str, body: bytes = b"", *, length: int | None = None, extra: str = "") -> bytes:
    """A POST as bytes."""
    count = len(body) if length is None else length
    return (
        f"POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nX-API-Key: {WRITER_KEY}\r\n"
        f"Content-Length: {count}\r\n{extra}\r\n"
    ).encode() + body


def get_request(path: str, *, method: str = "GET", extra: str = "") -> bytes:
    """A GET as bytes."""
    return f"{method} {path} HTTP/1.1\r\nHost: test\r\nX-API-Key: {WRITER_KEY}\r\n{extra}\r\n".encode()
