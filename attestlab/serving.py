"""From a command to running processes: initialise where needed, listen, serve, stop."""

from __future__ import annotations

import asyncio
import gc
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from attestlab import app
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.lab import Initialised, Lab
from attestlab.settings import Settings
from attestlab.workers import Workers

Ready = Callable[[], None]


def ensure_initialised(settings: Settings) -> Initialised | None:
    """Initialise a fresh installation; None where there was one. Several processes may start at once."""
    try:
        Lab.open(settings).close()
        return None
    except (NotFound, ValidationFailed):
        pass  # no log, or no keyring yet
    try:
        lab, made = Lab.init(settings)
    except Conflict:
        return None  # another process was quicker
    lab.close()
    return made


def run(settings: Settings, *, host: str, port: int, workers: int, announce: Callable[[str], None]) -> int:
    """Serve until told to stop; returns the exit code. `announce` gets the URL once requests are answered."""
    sockets = app.listen(host, port)
    url = app.address_of(sockets, host)
    settings = settings if settings.portal_url else settings.model_copy(update={"portal_url": url})

    def work(ready: Ready) -> None:
        _serve(settings, sockets, ready)

    if workers > 1:
        return Workers(workers, work).run(ready=lambda: announce(url))
    work(lambda: announce(url))
    return 0


def run_demo(folder: Path | None, *, host: str, port: int, show: Callable[[dict[str, str]], None]) -> int:
    """Make the demo's world where it is not yet made, and serve it; returns the exit code."""
    from attestlab import demo  # with pillow, which only the demo needs

    folder = folder or Path(tempfile.mkdtemp(prefix="attestlab-demo-"))
    shown = demo.credentials(folder)
    return run(Settings(data=folder), host=host, port=port, workers=1, announce=lambda url: show({**shown, "url": url}))


def _serve(settings: Settings, sockets: list[socket.socket], ready: Ready) -> None:
    lab = Lab.open(settings)
    gc.freeze()  # what was loaded stays; walking it in every full collection would stop all requests
    try:
        asyncio.run(app.serve(lab, sockets, ready=ready))
    finally:
        lab.close()
