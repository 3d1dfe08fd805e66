"""Request bodies: the result does not depend on how the network splits the body."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.web.body.reader import INLINE_BYTES, MAX_FORM_ESCAPES, ParsedBody, read_web_form
from attestlab.web.http1.request_body import (
    FRAMING_LIMIT_BYTES,
    PIECE_BYTES,
    ChunkedBody,
    FixedBody,
    RequestBody,
    open_body,
)
from attestlab.web.http1.request_head import RequestHead
from support.received_pieces import Pieces, read_whole_body, run


def cut(text: bytes, places: list[int]) -> list[bytes]:
    """Splits the text at these places."""
    ends = sorted(place % (len(text) + 1) for place in places)
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


def chunked(pieces: list[bytes], *, size: Callable[[int], str] = lambda n: f"{n:x}", trailer: bytes = b"") -> bytes:
    return b"".join(f"{size(len(p))}\r\n".encode() + p + b"\r\n" for p in pieces if p) + b"0\r\n" + trailer + b"\r\n"


places = st.lists(st.integers(0, 10_000), max_size=12)


@given(st.binary(max_size=300), places, st.binary(max_size=50))
def test_a_body_of_known_length_ends_at_its_length(text: bytes, places: list[int], after: bytes) -> None:
    source = Pieces(*cut(text + after, places))
    body = FixedBody(source, len(text))

    assert read_whole_body(body) == text
    assert body.is_finished
    assert after.startswith(source.buffer)


@given(st.lists(st.binary(max_size=60), max_size=8), places, st.binary(max_size=50))
def test_chunks_are_joined(chunks: list[bytes], places: list[int], after: bytes) -> None:
    source = Pieces(*cut(chunked(chunks) + after, places))
    body = ChunkedBody(source)

    assert read_whole_body(body) == b"".join(chunks)
    assert body.is_finished
    assert after.startswith(source.buffer)


def test_chunk_extensions_capital_digits_and_trailers_are_ignored() -> None:
    text = chunked([b"a" * 10, b"b" * 11], size=lambda n: f"0{n:X} ;name=value", trailer=b"X-Sum: 5\r\nX-More: 6\r\n")

    assert read_whole_body(ChunkedBody(Pieces(text))) == b"a" * 10 + b"b" * 11


@pytest.mark.parametrize("extension", [";a", ";a=b", ";a;b=c", ' ; a = "b \\" c" ;d', ';a=""'])
def test_a_chunk_extension_is_a_name_with_or_without_a_value(extension: str) -> None:
    text = chunked([b"a" * 10], size=lambda n: f"{n:x}{extension}")

    assert read_whole_body(ChunkedBody(Pieces(text))) == b"a" * 10


@pytest.mark.parametrize(
    "text",
    [
        b"x\r\n",
        b"-1\r\na\r\n0\r\n\r\n",
        b"0x1\r\na\r\n0\r\n\r\n",
        b"\r\na\r\n0\r\n\r\n",
        b"1\r\nab\r\n0\r\n\r\n",
        b" 1\r\na\r\n0\r\n\r\n",
        b"1;a\nb\r\na\r\n0\r\n\r\n",
        b"1" * 5000,
        b"f" * 16 + b"\r\n",
        b"1;\r\na\r\n0\r\n\r\n",
        b"1; \r\na\r\n0\r\n\r\n",
        b"1 \r\na\r\n0\r\n\r\n",
        b"1;a=\r\na\r\n0\r\n\r\n",
        b"1;a=b c\r\na\r\n0\r\n\r\n",
        b'1;a="b\r\na\r\n0\r\n\r\n',
        b"1;a;;b\r\na\r\n0\r\n\r\n",
        b"1\r\na\r\n0\r\nno field\r\n\r\n",
        b"1\r\na\r\n0\r\nName : b\r\n\r\n",
        b"1\r\na\r\n0\r\n: b\r\n\r\n",
        b"1\r\na\r\n0\r\nName: b\x00\r\n\r\n",
        b"1\r\na\r\n0\r\nName: b\r\n folded\r\n\r\n",
        b"1\r\na\r\n0\r\nName: b\n\r\n\r\n",
        b"1;" + b"x" * 5000 + b"\r\na\r\n0\r\n\r\n",
    ],
)
def test_ambiguous_chunks_are_rejected(text: bytes) -> None:
    with pytest.raises(ValidationFailed, match="well-formed"):
        read_whole_body(ChunkedBody(Pieces(text)))


def test_a_flood_of_tiny_chunks_is_rejected() -> None:
    flood = b"1;" + b"x" * 1000 + b"\r\na\r\n"

    with pytest.raises(ValidationFailed, match="exceed"):
        read_whole_body(ChunkedBody(Pieces(flood * (FRAMING_LIMIT_BYTES // 1000))))


def test_an_endless_trailer_is_rejected() -> None:
    with pytest.raises(ValidationFailed, match="exceed"):
        read_whole_body(ChunkedBody(Pieces(b"0\r\n" + b"a: b\r\n" * (FRAMING_LIMIT_BYTES // 5))))


def test_a_truncated_body_is_an_error() -> None:
    for body in (FixedBody(Pieces(b"abc"), 4), ChunkedBody(Pieces(b"4\r\nabc"))):
        with pytest.raises(EOFError):
            read_whole_body(body)


def test_small_chunks_are_returned_together() -> None:
    body = ChunkedBody(Pieces(chunked([b"a"] * 1000)))

    assert run(body.read_chunk()) == b"a" * 1000


@pytest.mark.parametrize(
    "large", [FixedBody(Pieces(b"a" * 200_000), 200_000), ChunkedBody(Pieces(chunked([b"a" * 200_000])))]
)
def test_a_large_body_comes_in_pieces(large: RequestBody) -> None:
    assert len(run(large.read_chunk())) == PIECE_BYTES


def test_buffered_bytes_of_an_unread_body_can_be_discarded() -> None:
    source = Pieces(b"")
    source.buffer += b"abcGET"
    here, on_its_way = FixedBody(source, 3), FixedBody(Pieces(), 3)

    assert here.discard_buffered()
    assert source.buffer == b"GET"
    assert not on_its_way.discard_buffered()


def test_the_head_determines_the_kind_of_body() -> None:
    head = RequestHead("POST", "/", "", {}, keep_alive=True, length=3, awaits_continue=False)

    assert asyncio.run(open_body(head, Pieces(b"abcd")).read_chunk()) == b"abc"
    assert asyncio.run(open_body(head._replace(length=None), Pieces(b"1\r\na\r\n0\r\n\r\n")).read_chunk()) == b"a"
    assert asyncio.run(open_body(head._replace(length=0), Pieces()).read_chunk()) == b""


@pytest.mark.parametrize(("characters", "in_thread"), [(100, False), (INLINE_BYTES, True)])
def test_a_long_form_of_a_page_is_parsed_off_the_event_loop(characters: int, in_thread: bool) -> None:
    form = b"content=" + b"%41" * characters
    threads: list[int] = []

    def parse(function: Callable[..., object], *arguments: object) -> object:
        threads.append(threading.get_ident())
        return function(*arguments)

    async def read() -> ParsedBody:
        body = FixedBody(Pieces(form), len(form))
        return await read_web_form(
            body, limit_bytes=len(form), run_in_thread=lambda *work: asyncio.to_thread(parse, *work)
        )

    assert asyncio.run(read()).document == {"content": "A" * characters}
    assert [thread != threading.get_ident() for thread in threads] == [True] * in_thread


def test_a_form_of_escapes_alone_is_refused_before_it_is_parsed() -> None:
    """A megabyte of them takes a sixth of a second."""
    form = b"content=" + b"%41" * (MAX_FORM_ESCAPES + 1)

    async def read() -> ParsedBody:
        body = FixedBody(Pieces(form), len(form))
        return await read_web_form(body, limit_bytes=len(form), run_in_thread=asyncio.to_thread)

    with pytest.raises(ValidationFailed, match="16,385 escapes; send at most 16,384"):
        asyncio.run(read())
