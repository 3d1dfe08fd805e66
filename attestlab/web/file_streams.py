"""Files that are streamed in parts, which a thread makes while the client receives them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

from attestlab.web.executor import Executor
from attestlab.web.response import StreamedResponse, save_as


async def stream_file(parts: Iterator[bytes], content_type: str, name: str, *, executor: Executor) -> StreamedResponse:
    """Answer a file to save as `name`; an error in its first part still becomes an error response.

    An error in a later part breaks the connection off, so a complete file is a complete export.
    """
    first = await executor.run_in_thread(next, parts, b"")
    return StreamedResponse(_read_parts(first, parts, executor), content_type, save_as(name))


async def _read_parts(first: bytes, parts: Iterator[bytes], executor: Executor) -> AsyncGenerator[bytes]:
    """Yield the parts of a file; a thread makes each when the client has received the one before."""
    part = first
    while part:
        yield part
        part = await executor.run_in_thread(next, parts, b"")
