"""One bulk request from its body to its last slice: parse a batch, record it in slices, parse the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from attestlab.orgs.rules import Caller
from attestlab.risk.signals.bulk import BulkOptions, BulkRecording, identify_request
from attestlab.risk.signals.ndjson import Lines, require_few_lines
from attestlab.web.executor import Executor
from attestlab.web.idempotency.keys import HEADER
from attestlab.web.request import Request

Row = TypeVar("Row")
BULK_LIMIT_BYTES = 50 * 1024 * 1024


class RecordedLines(NamedTuple):
    """The lines of a request that were read to the end, and how many of them were accepted."""

    lines: Lines[object]
    accepted: int


async def record_lines(
    request: Request,
    bulk: BulkRecording[Row],
    *,
    caller: Caller,
    executor: Executor,
    is_backfill: bool = False,
    on_batch: Callable[[Sequence[Row]], None] = lambda _: None,
) -> RecordedLines:
    """Record the lines of a request; with an Idempotency-Key, a repeated one continues where the first one ended.

    `on_batch` gets each batch of accepted rows once it is recorded.

    Raises:
        ValidationFailed: most of the lines are something else than rows.
    """
    require_few_lines(request.unparsed)
    key, owner = request.header(HEADER), str(caller.tenant_id)
    progress_id = None if key is None else await executor.run_in_thread(identify_request, caller, key, request.unparsed)
    options = BulkOptions(is_backfill, progress_id)
    begin = partial(bulk.begin, options)
    begun, accepted = begin() if key is None else await executor.write(begin), 0
    lines = bulk.read_lines(request.unparsed, began_at=begun.began_at, caller=caller)
    while (batch := await parse_batch(lines, owner, executor)) is not None:
        done = max(accepted, min(begun.recorded, accepted + len(batch)))
        accepted += len(batch)
        while done < accepted:
            async with executor.bulk.piece() as time_s:
                part = bulk.take_slice(batch[done - accepted :], time_s)
                done += len(part)
                await executor.write(partial(bulk.record_slice, part, done, options, caller))
        on_batch(batch)
    return RecordedLines(lines, accepted)


async def parse_batch(lines: Lines[Row], owner: str, executor: Executor) -> Sequence[Row] | None:
    """Parse the next batch of lines in a child process, in the tenant's turn; None at their end."""
    async with executor.bulk.piece():
        return await executor.bodies.run(owner, lines.parse_batch)
