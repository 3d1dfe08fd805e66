"""PushbackStream: bytes that are pushed back come first, then those that Tornado has read ahead, then the socket's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from tornado.iostream import StreamClosedError

from attestlab.web.http1.pushback_stream import PushbackStream
from support.timeouts import WAIT_TIMEOUT_S

Story = Callable[[PushbackStream, socket.socket], Awaitable[None]]


def run(story: Story) -> None:
    async def run_story() -> None:
        ours, theirs = socket.socketpair()
        stream = PushbackStream(ours, max_buffer_size=1_000_000, read_chunk_size=1_000)
        try:
            await asyncio.wait_for(story(stream, theirs), WAIT_TIMEOUT_S)
        finally:
            stream.close()
            theirs.close()

    asyncio.run(run_story())


def test_bytes_that_were_pushed_back_come_before_those_of_the_socket() -> None:
    async def story(stream: PushbackStream, client: socket.socket) -> None:
        client.sendall(b"third")
        await stream.push_back(b"second ")
        await stream.push_back(b"first ")

        assert await stream.read_bytes(18) == b"first second third"

    run(story)


@pytest.mark.parametrize("ahead", [b"ahead ", b"x" * 70_000, b"\0\0"])
def test_bytes_that_tornado_has_read_ahead_keep_their_place(ahead: bytes) -> None:
    async def story(stream: PushbackStream, client: socket.socket) -> None:
        client.sendall(b"?" + ahead)
        await stream.read_until_regex(b"\\?")  # reads a whole chunk, so the rest stays in Tornado's buffer
        client.sendall(b"last")
        await stream.push_back(b"first ")

        assert await stream.read_bytes(len(b"first " + ahead + b"last")) == b"first " + ahead + b"last"

    run(story)


def test_a_read_waits_for_the_socket_after_the_last_byte_that_was_pushed_back() -> None:
    async def story(stream: PushbackStream, client: socket.socket) -> None:
        await stream.push_back(b"a" * 5_000)
        assert await stream.read_bytes(5_000) == b"a" * 5_000
        waiting = asyncio.ensure_future(stream.read_bytes(1))
        await asyncio.sleep(0)
        assert not waiting.done()
        client.sendall(b"b")

        assert await waiting == b"b"

    run(story)


def test_the_end_of_the_connection_is_noticed_after_the_bytes_that_were_pushed_back() -> None:
    async def story(stream: PushbackStream, client: socket.socket) -> None:
        await stream.push_back(b"whole")
        client.close()

        assert await stream.read_bytes(5) == b"whole"
        with pytest.raises(StreamClosedError):
            await stream.read_bytes(1)

    run(story)


def test_nothing_can_be_pushed_back_into_a_closed_stream() -> None:
    async def story(stream: PushbackStream, _client: socket.socket) -> None:
        stream.close()

        with pytest.raises(StreamClosedError):
            await stream.push_back(b"late")

    run(story)
