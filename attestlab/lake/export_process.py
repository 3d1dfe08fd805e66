"""Runs the server's exports in a separate process with the lowest priority.

In the server's process an export would hold the GIL and delay the threads of requests, also while its libraries load.
Starting the process takes a second, so there is a cooldown between runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from attestlab.core.error_text import one_line

if TYPE_CHECKING:
    from uuid import UUID

    from attestlab.lake.service import Lake
    from attestlab.lake.store import Numbering

NICENESS = 19  # the lowest priority
COOLDOWN_S = 30.0
_COMMAND = (
    sys.executable,
    "-P",
    "-m",
    "attestlab.lake.export_process",
)  # -P: never import a module from the working directory


class ExportProcess:
    """Exports one lake next to a server, with a cooldown of `cooldown_s` after each run."""

    def __init__(self, lake: Lake, *, cooldown_s: float = COOLDOWN_S) -> None:
        self._lake, self._cooldown_s = lake, cooldown_s
        self._idle_parts: dict[tuple[Numbering, UUID | None], int] = {}  # the full parts when none was due
        self._cooldown_until = 0.0

    async def sweep(self) -> int:
        """Run `Lake.sweep` in a separate process if a part may be due; return the number of parts written.

        Raises:
            RuntimeError: the process failed; its error output.
            OSError: the process cannot be started.
        """
        if monotonic() < self._cooldown_until:
            return 0
        full_parts = await asyncio.to_thread(self._lake.full_parts)
        if full_parts == self._idle_parts:
            return 0
        try:
            written = await self._run_process()
        finally:
            # After a failure, too: an attempt without a pause would fail for the same reason.
            self._cooldown_until = monotonic() + self._cooldown_s
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
    """Kill the process; an unfinished part leaves no file behind."""
    if process.returncode is None:
        process.kill()
    await process.wait()


def main() -> None:
    """Export the lake named on stdin, and print the number of parts written."""
    os.nice(NICENESS)
    from attestlab.core.clock import SystemClock  # after `nice`, because loading is half of the work
    from attestlab.core.db.storage import Storage
    from attestlab.lake.service import Lake

    info = json.load(sys.stdin)
    storage = Storage(info["records"])
    lake = Lake(
        storage=storage,
        folder=Path(info["folder"]),
        clock=SystemClock(),
        rows_a_part=info["rows_a_part"],
        merged_lengths=info["merged_lengths"],
    )
    try:
        print(lake.sweep())
    except Exception as error:  # the server logs this output, and a traceback would quote values
        sys.exit(one_line(error))
    finally:
        storage.close()


if __name__ == "__main__":
    main()
