"""A server with every defect that the stall rules detect: cubic work on its event loop, and long responses."""

from __future__ import annotations

import asyncio
import sys

ANSWER_BYTES = 100_000


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await _head(reader):
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        body = await reader.readexactly(length)
        for place in range(len(body) ** 2 // 2**19):
            body.count(b"?", place % 8)
        answer = b"x" * (ANSWER_BYTES if body else 2)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        await writer.drain()
    writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


if __name__ == "__main__":
    sys.exit(asyncio.run(_serve()))
