"""Draws reports in a short process of the dashboards' package, with the rights of the recipients and no others.

The process asks the API on the private Unix socket of the dashboards. Each recipient has a token that only reads. It is
bounded in time and memory, has a low priority, and ends when it has written its answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.errors import MissingExtra, Unavailable
from attestlab.identity.reader_tokens import ReaderTokens
from attestlab.server.dashboards import EXTRA, PACKAGE, DashboardFolder, list_missing_packages
from attestlab.settings import Settings
from attestlab.views.schedules.results import DrawnReport

TIMEOUT_S: Final = 300
MEMORY_BYTES: Final = 1024 * 1024 * 1024
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_MODULE: Final = f"{PACKAGE}.stills.report"
_TURNED_OFF: Final = "Reports need the dashboards, which this server has turned off (ATTESTLAB_DASHBOARDS)."
_TOO_SLOW: Final = f"The report took longer than {TIMEOUT_S} s to draw. Narrow the filters of the view."
_TOO_MUCH: Final = (
    f"The report could not be drawn; it may have taken more than {MEMORY_BYTES // 1024**2} MiB. "
    "Narrow the filters of the view; the log of the server has more."
)


class ReportDrawer:
    """Starts the drawing process. Without a `place`, the dashboards are turned off, and nothing can be drawn."""

    def __init__(
        self, place: DashboardFolder | None, *, settings: Settings, readers: ReaderTokens, clock: Clock
    ) -> None:
        self._place = place
        self._settings = settings
        self._readers = readers
        self._clock = clock

    async def draw(self, page: str, query: str, recipients: Sequence[UUID]) -> Mapping[UUID, DrawnReport]:
        """Draw a page for each recipient; those with equal rights share a drawing.

        Raises:
            Unavailable: the dashboards are missing, or the page took too long or too much memory.
        """
        if self._place is None:
            raise Unavailable(_TURNED_OFF)
        if missing := await asyncio.to_thread(list_missing_packages):
            raise Unavailable(MissingExtra(missing, EXTRA).message)
        return _read_answer(await self._run(self._compose_order(self._place, page, query, recipients)))

    def _compose_order(self, place: DashboardFolder, page: str, query: str, recipients: Sequence[UUID]) -> str:
        now = self._clock.now()
        order = {
            "api_socket": place.api_socket,
            "public_url": self._settings.public_url,
            "stage": self._settings.env.value,
            "page": page,
            "query": query,
            "timeout_s": TIMEOUT_S,
            "memory_bytes": MEMORY_BYTES,
            "tokens": {str(user_id): self._readers.issue(user_id, now=now) for user_id in recipients},
        }
        return json.dumps(order)

    async def _run(self, order: str) -> bytes:
        """Run the process, and end it if it takes too long or this task is cancelled."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _MODULE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            process_group=0,  # Ctrl-C is for the server
            limit=MAX_ANSWER_BYTES,
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer, _ = await process.communicate(order.encode() + b"\n")
        except TimeoutError:
            raise Unavailable(_TOO_SLOW) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):  # it has just ended
                    process.kill()
                await process.wait()
        if process.returncode != 0 or not answer:
            raise Unavailable(_TOO_MUCH)
        return answer


def _read_answer(answer: bytes) -> dict[UUID, DrawnReport]:
    read = json.loads(answer)
    if "error" in read:
        raise Unavailable(str(read["error"]))
    return {
        UUID(person): DrawnReport(tuple(group["sentences"]), group["html"].encode())
        for group in read["drawn"]
        for person in group["readers"]
    }
