"""From a command to running processes: initialise where needed, listen, serve, stop."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from attestlab.cli.processes import Workers
from attestlab.core import atomic_files
from attestlab.core.errors import Conflict
from attestlab.installation import InitResult, Installation
from attestlab.server import app
from attestlab.settings import Settings
from attestlab.web import logging_setup

Ready = Callable[[], None]

# A group of requests holds some thousand objects until its commit, none of them in a circle: with Python's 700 the
# collector looks at them again and again, a tenth of all the work.
COLLECT_AT = (10_000, 20, 20)

# How long the event loop waits for the interpreter while a thread runs Python's code. Python's own 5 ms are waited for
# at each of the four or five hand-overs of a request.
SWITCH_INTERVAL_S = 0.001


def ensure_initialised(settings: Settings) -> InitResult | None:
    """Initialise a fresh installation; None where there was one. Several processes may start at once."""
    try:
        lab, made = Installation.init(settings)
    except Conflict:
        return None
    lab.close()
    return made


def run(settings: Settings, *, host: str, port: int, workers: int, announce: Callable[[str], None]) -> int:
    """Serve until told to stop; returns the exit code. `announce` gets the URL once requests are answered."""
    sockets = app.listen(host, port)
    url = app.address_of(sockets, host)
    settings = settings if settings.portal_url else settings.model_copy(update={"portal_url": url})

    def work(ready: Ready) -> None:
        _serve(settings, sockets, ready)

    def let_go() -> None:
        for listening in sockets:
            listening.close()

    if workers > 1:
        return Workers(workers, work, let_go=let_go).run(ready=lambda: announce(url))
    work(lambda: announce(url))
    return 0


def run_demo(folder: Path | None, *, host: str, port: int, show: Callable[[dict[str, str]], None]) -> int:
    """Make the demo's world where it is not yet made, and serve it; returns the exit code."""
    from attestlab.demos import world as demo_world  # with pillow, which only the demo needs

    with ExitStack() as stack:
        folder = folder or stack.enter_context(atomic_files.temporary_folder("attestlab-demo-"))
        shown = demo_world.credentials(folder)
        settings = Settings(data=folder, database_url=None)  # a world of its own, whatever the environment says
        return run(settings, host=host, port=port, workers=1, announce=lambda url: show({**shown, "url": url}))


def _serve(settings: Settings, sockets: list[socket.socket], ready: Ready) -> None:
    logging_setup.capture_library_logs()
    lab = Installation.open(settings)
    gc.freeze()  # what was loaded stays; walking it in every full collection would stop all requests
    gc.set_threshold(*COLLECT_AT)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        asyncio.run(app.serve(lab, sockets, ready=ready))
    finally:
        lab.close()
