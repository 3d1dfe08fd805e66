"""The server's exports, in a process of their own that yields to everybody.

Within the server the threads of requests would wait for each step of an export, and for what it
loads. Here a processor that nobody else wants does it; starting costs a second, so it rests in between.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from attestlab.core.error_text import one_line

if TYPE_CHECKING:
    from attestlab.lake.service import Lake

NICENESS = 19  # the politest there is
COOLDOWN_S = 30.0
_COMMAND = (
    sys.executable,
    "-P",
    "-m",
    "attestlab.lake.export_process",
)  # -P: never a module that lies where we were started


class ExportProcess:
    """Sweeps one lake beside a server, with a rest of `rest_s` after each export."""

    def __init__(self, lake: Lake, *, cooldown_s: float = COOLDOWN_S) -> None:
        self._lake, self._cooldown_s = lake, cooldown_s
        self._idle_parts: dict[Any, int] = {}  # what was filled when nothing was due
        self._cooldown_until = 0.0

    async def sweep(self) -> int:
        """`Lake.sweep` in a process of its own, where there may be anything due; how many parts.

        Raises:
            RuntimeError: that process failed; what it said.
            OSError: there can be no such process.
        """
        if monotonic() < self._cooldown_until:
            return 0
        full_parts = await asyncio.to_thread(self._lake.full_parts)
        if full_parts == self._idle_parts:
            return 0
        try:
            written = await self._run_process()
        finally:
            self._cooldown_until = (
                monotonic() + self._cooldown_s
            )  # after a failure too, which would be the same at once
        if written == 0:
            self._idle_parts = full_parts
        return written

    async def _run_process(self) -> int:
        process = await asyncio.create_subprocess_exec(*_COMMAND, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            output, errors = await process.communicate(json.dumps(self._lake.connection_info).encode())
        except asyncio.CancelledError:
            await _kill(process)
            raise
        if process.returncode != 0:
            message = errors.decode(errors="replace").strip()
            raise RuntimeError(f"The export ended with {process.returncode}: {message}")
        return int(output)


async def _kill(process: Process) -> None:
    """A part that is not finished leaves nothing behind."""
    if process.returncode is None:
        process.kill()
    await process.wait()


def main() -> None:
    """Sweep the lake that stdin names, and say how many parts were written."""
    os.nice(NICENESS)
    from attestlab.core.db.storage import Storage  # after this, for loading is half of the work
    from attestlab.lake.service import Lake

    info = json.load(sys.stdin)
    storage = Storage(info["records"])
    lake = Lake(storage=storage, folder=Path(info["folder"]), rows_a_part=info["rows_a_part"])
    try:
        print(lake.sweep())
    except Exception as error:  # the server logs what is printed here, and a traceback's text would quote values
        sys.exit(one_line(error))
    finally:
        storage.close()


if __name__ == "__main__":
    main()
