"""Starts server processes: initializes the installation if necessary, listens, serves, and stops."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from attestlab.cli.processes import Workers
from attestlab.cli.progress import progress_of_start
from attestlab.core import atomic_files
from attestlab.core.errors import Conflict
from attestlab.installation import Installation
from attestlab.orgs.service import InitResult
from attestlab.server import app
from attestlab.server.dashboards import Dashboards, open_socket_folder
from attestlab.settings import Settings
from attestlab.web import logging_setup

if TYPE_CHECKING:
    from attestlab.demos.served import Credentials

Ready = Callable[[], None]

# How long the event loop waits for the interpreter lock while a thread runs Python code. It would wait for Python's
# default of 5 ms at each of the four or five switches of a request.
SWITCH_INTERVAL_S = 0.001
# Of Python's garbage collector. By default it looks at the 80,000 objects of one large body again and again while they
# are built: for 0.1 s, in which every request waits.
GC_THRESHOLDS = (10_000, 10, 20)
_PERCENT = 100


def ensure_initialized(settings: Settings) -> InitResult | None:
    """Initialize an installation; returns None if it exists. Several processes may do this at once."""
    try:
        lab, made = Installation.init(settings)
    except Conflict:
        return None
    lab.platform_issuer.ensure()
    lab.close()
    return made


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen before anything is made or opened, so that a port in use changes nothing."""
    return app.listen(host, port)


def run(
    settings: Settings,
    sockets: list[socket.socket],
    *,
    host: str,
    workers: int,
    announce: Callable[[str], None],
    people: Sequence[dict[str, str]] = (),
) -> int:
    """Serve until a stop signal; returns the exit code. Calls `announce` with the URL when the server is ready.

    `people` may sign in to the dashboards with one click: those of a demo.
    """
    url = app.url_of(sockets, host)
    settings = settings if settings.portal_url else settings.model_copy(update={"portal_url": url})
    with ExitStack() as stack:
        dashboards = _prepare_dashboards(settings, stack, people)
        listening = [*sockets, *([] if dashboards is None else [dashboards.listen()])]

        def work(ready: Ready) -> None:
            _serve(settings, listening, ready, dashboards)

        def close_sockets() -> None:
            for each in listening:
                each.close()

        if workers > 1:
            return Workers(workers, work, close_sockets=close_sockets).run(ready=lambda: announce(url))
        work(lambda: announce(url))
    return 0


def _prepare_dashboards(settings: Settings, stack: ExitStack, people: Sequence[dict[str, str]]) -> Dashboards | None:
    """Make the private folder of the dashboards; None if the settings turn them off."""
    if not settings.dashboards:
        return None
    return Dashboards(stack.enter_context(open_socket_folder()), settings, people)


def run_demo(
    folder: Path | None, sockets: list[socket.socket], *, host: str, show: Callable[[Credentials], None]
) -> int:
    """Create the demo installation if it does not exist, with its progress on stderr, and serve it.

    Returns the exit code.
    """
    from attestlab.cli.demo_worlds import open_world  # imported late: only the demo needs Pillow
    from attestlab.demos.served import list_people

    with ExitStack() as stack:
        folder = folder or stack.enter_context(atomic_files.temporary_folder("attestlab-demo-"))
        with progress_of_start("Building the demo world") as report:
            shown = open_world(folder, report_progress=lambda share: report(int(_PERCENT * share), _PERCENT))
        settings = Settings(data=folder, database_url=None)  # always its own database, regardless of the environment
        return run(
            settings,
            sockets,
            host=host,
            workers=1,
            announce=lambda url: show({**shown, "url": url}),
            people=list_people(shown),
        )


def _serve(settings: Settings, sockets: list[socket.socket], ready: Ready, dashboards: Dashboards | None) -> None:
    logging_setup.capture_library_logs()
    lab = Installation.open(settings)
    gc.freeze()  # a full collection of all that is loaded takes 0.1 s, and every request would wait for it
    gc.set_threshold(*GC_THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        asyncio.run(app.serve(lab, sockets, ready=ready, dashboards=dashboards))
    finally:
        lab.close()
        gc.unfreeze()  # what stays frozen is never freed, and DuckDB reports it as a leak when the process ends
