"""One round of a server's sweeper, without the server."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from attestlab.installation import Installation
from attestlab.server.write_queue import WriteQueue
from support.timeouts import WAIT_TIMEOUT_S


async def sweep_once(lab: Installation) -> None:
    """Run the sweeper of a server until it completed a round."""
    desk, completed = WriteQueue(lab), asyncio.Event()
    sweeping = asyncio.create_task(desk.sweep_forever(completed.set, every_s=0.01))
    try:
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            await completed.wait()
    finally:
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
        await desk.finish()
