"""A reverse proxy that serves an HTTP server below a path, as operators set one up: websockets pass, too.

It removes the path, and may name it in `X-Forwarded-Prefix` and replace `Host`. Each request has its own
connection, so the head alone is rewritten; all else is relayed as bytes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from support.tcp_proxy import TcpProxy

_END = b"\r\n\r\n"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_OWN = ("connection", "host", "x-forwarded-for", "x-forwarded-prefix")


@dataclass(frozen=True)
class Rewriting:
    """What a proxy does to the head of a request.

    `path` is what it removes, `names_path` whether it says so, and `keeps_host` whether `Host` stays as it was sent.
    """

    path: str
    names_path: bool = True
    keeps_host: bool = True

    def rewrite(self, head: bytes, upstream: str) -> bytes | None:
        """Return the head for the upstream; None if its path is not below ours."""
        request, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = request.split(" ")
        if not target.startswith(f"{self.path}/"):
            return None
        sent = [line.partition(":") for line in lines]
        headers = {name.lower(): value.strip() for name, _, value in sent}
        kept = [line for line in lines if line.partition(":")[0].lower() not in _OWN]
        own = [
            f"Host: {headers.get('host', '') if self.keeps_host else upstream}",
            f"Connection: {'Upgrade' if 'upgrade' in headers else 'close'}",
            "X-Forwarded-For: 203.0.113.9",
            *([f"X-Forwarded-Prefix: {self.path or '/'}"] if self.names_path else []),
        ]
        target = target.removeprefix(self.path)
        return "\r\n".join([f"{method} {target} {version}", *kept, *own, "", ""]).encode("latin-1")


class PathProxy(TcpProxy):
    """Serves `upstream` (`127.0.0.1:8080`), which may be stated later, below a path; `url` is the address of that."""

    def __init__(self, rewriting: Rewriting, upstream: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.rewriting = rewriting
        self.upstream = upstream
        super().__init__(upstream, tls)
        begin = "http://127.0.0.1" if tls is None else "https://localhost"
        self.url = f"{begin}:{self.port}{rewriting.path}"

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(_END)
        except (asyncio.IncompleteReadError, ConnectionError):  # a browser opens connections that it may not use
            writer.close()
            return
        request = self.rewriting.rewrite(head, self.upstream)
        if request is None:
            writer.write(_NOT_FOUND)
            writer.close()
            return
        host, _, port = self.upstream.partition(":")
        there, back = await asyncio.open_connection(host, int(port))
        back.write(request)
        await self._relay(reader, writer, there, back)


@contextmanager
def serve_below(url: str, path: str, *, names_path: bool = True, keeps_host: bool = True) -> Iterator[str]:
    """Serve the server at `url` below a path; yields the address of it."""
    proxy = PathProxy(Rewriting(path, names_path, keeps_host), urlsplit(url).netloc)
    try:
        yield proxy.url
    finally:
        proxy.close()
