"""The process of the dashboards: started with the first request for one, reached over a private Unix socket.

A page of the dashboards takes up to a second of Python to build. In this process, every API request would wait for
it; so the dashboards have a process of their own, and are a client of the API like any other. All workers of a server
share it. It ends when the worker that started it does.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tornado.iostream import IOStream
from tornado.netutil import bind_unix_socket

from attestlab.core.atomic_files import TEMPORARY_SUFFIX, temporary_folder
from attestlab.core.encoding import quote
from attestlab.core.errors import MissingExtra, Unavailable, ValidationFailed
from attestlab.core.extras import list_missing
from attestlab.settings import Settings

PREFIX: Final = "/dash"
PACKAGE: Final = "attestlab_dashboards"
EXTRA: Final = "dash"
START_TIMEOUT_S: Final = 60.0  # on a machine that is busy; it takes three seconds on one that is not
MAX_SOCKET_PATH_BYTES: Final = 103  # of unix(7) on every system: Linux has room for 107, others for 103
_SOCKET: Final = "dashboards.sock"
_FOLDER: Final = "attestlab-dash-"
MAX_PLACE_BYTES: Final = MAX_SOCKET_PATH_BYTES - len(f"/{_FOLDER}{8 * 'x'}{TEMPORARY_SUFFIX}/{_SOCKET}")
_SHORT_PLACES: Final = (Path("/tmp"), Path("/var/tmp"))
_POLL_S: Final = 0.05
_CONNECTING: Final = 16  # at once: a thousand that waited for the start would keep the event loop for a second
_POLLS: Final = 20  # before a process that has ended is started again
_RESTART_PAUSE_S: Final = 2.0
_STOP_S: Final = 2.0
_NOT_INSTALLED: Final = "The dashboards are not installed. Install them, and start the server again."
_SLOW: Final = "The dashboards did not start in time; the server's log has the reason. Try again shortly."


def are_installed() -> bool:
    """Whether the package of the dashboards and the extra that it needs are installed."""
    return not list_missing_packages()


def list_missing_packages() -> list[str]:
    """List the packages of the dashboards that are not installed."""
    return [*([] if find_spec(PACKAGE) else [PACKAGE]), *list_missing(EXTRA)]


async def refuse() -> IOStream:
    """Refuse a connection, because the settings turn the dashboards off.

    Raises:
        Unavailable: always.
    """
    raise Unavailable("The dashboards of this server are turned off (ATTESTLAB_DASHBOARDS).")


@dataclass(frozen=True)
class DashboardFolder:
    """A private folder with the sockets of both processes; only this user can reach them."""

    folder: Path

    @property
    def api_socket(self) -> str:
        """The Unix socket on which the dashboards reach the API."""
        return str(self.folder / "api.sock")

    @property
    def own_socket(self) -> str:
        """The Unix socket on which the dashboards listen."""
        return str(self.folder / _SOCKET)

    @property
    def lock(self) -> Path:
        """The file that the worker locks which started the dashboards."""
        return self.folder / "lock"


@contextmanager
def open_socket_folder() -> Iterator[DashboardFolder]:
    """Make the folder of the sockets; it is removed at the end of the block.

    Raises:
        ValidationFailed: no folder for temporary files has a path that is short enough for a socket.
    """
    with temporary_folder(_FOLDER, within=_find_place()) as folder:
        yield DashboardFolder(folder)


def _find_place() -> Path:
    """Find a folder for temporary files with a short path: the system's own, if it is one."""
    chosen = Path(tempfile.gettempdir())
    for place in (chosen, *_SHORT_PLACES):
        if len(os.fsencode(place)) <= MAX_PLACE_BYTES and os.access(place, os.W_OK | os.X_OK):
            return place
    raise ValidationFailed(
        f"The folder for temporary files, {quote(str(chosen))}, has a path of {len(os.fsencode(chosen))} bytes; the "
        f"sockets of the dashboards need one of at most {MAX_PLACE_BYTES}. Set TMPDIR to a folder with a shorter path, "
        "or turn the dashboards off: ATTESTLAB_DASHBOARDS=false."
    )


class Dashboards:
    """The dashboards of a server, as one of its workers sees them. `people` may sign in with one click: a demo's.

    `on_start` is called when this worker starts them: their first page will come soon. `cookie_key` is the same for
    each process of them, so that people stay signed in when one starts again.
    """

    on_start: Callable[[], Coroutine[object, object, None]] | None = None
    cookie_key = b""

    def __init__(self, place: DashboardFolder, settings: Settings, people: Sequence[dict[str, str]] = ()) -> None:
        self.place = place
        self._settings = settings
        self._people = list(people)
        self._process: asyncio.subprocess.Process | None = None
        self._lock: int | None = None
        self._starting: asyncio.Task[None] | None = None
        self._warming_up: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._turns = asyncio.Semaphore(_CONNECTING)

    def listen(self) -> socket.socket:
        """Listen for API requests of the dashboards; workers that are forked afterwards share the socket."""
        return bind_unix_socket(self.place.api_socket, mode=0o600)

    async def connect(self) -> IOStream:
        """Connect to the dashboards, and start them if no worker has.

        Raises:
            Unavailable: they are not installed, or did not start in time.
        """
        if self._missing:
            raise Unavailable(f"{_NOT_INSTALLED} {MissingExtra(self._missing, EXTRA).message}")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_TIMEOUT_S
        while (stream := await self._try_to_connect()) is None:
            if loop.time() > deadline:
                raise Unavailable(_SLOW)
            await self._await_start()
        return stream

    @cached_property
    def _missing(self) -> list[str]:
        """The packages that are not installed, looked for once: it takes 5 ms, and any stranger may connect."""
        return list_missing_packages()

    async def stop(self) -> None:
        """Stop the dashboards if this worker started them."""
        if self._warming_up is not None:
            self._warming_up.cancel()
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()  # it ends with its standard input
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):  # it has just ended
                process.kill()
            await process.wait()

    async def _try_to_connect(self) -> IOStream | None:
        async with self._turns:
            return await self._connect()

    async def _connect(self) -> IOStream | None:
        stream = IOStream(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            return await stream.connect(self.place.own_socket)
        except OSError:
            stream.close()
            return None

    async def _await_start(self) -> None:
        """Wait until the process listens, or for a second: one task starts it and polls for all requests that wait."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start_and_poll())
            self._starting.add_done_callback(self._on_started)
        await asyncio.shield(self._starting)

    def _on_started(self, _task: asyncio.Task[None]) -> None:
        self._starting = None

    async def _start_and_poll(self) -> None:
        """Start the process, unless another worker does, and poll until it listens."""
        await self._start()
        for _ in range(_POLLS):
            await asyncio.sleep(_POLL_S)
            stream = await self._try_to_connect()
            if stream is not None:
                return stream.close()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        is_running = self._process is not None and self._process.returncode is None
        if is_running or loop.time() < self._not_before or not self._take_lock():
            return
        self._not_before = loop.time() + _RESTART_PAUSE_S
        with suppress(FileNotFoundError):
            os.unlink(self.place.own_socket)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", PACKAGE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is for the server; the dashboards end with their standard input
        )
        assert self._process.stdin is not None
        self._process.stdin.write(self._configuration().encode() + b"\n")
        if self.on_start is not None:
            self._warming_up = asyncio.create_task(self.on_start())

    def _configuration(self) -> str:
        from attestlab_dashboards.configuration import Configuration, DemoPerson  # where they are installed

        return Configuration(
            api_socket=self.place.api_socket,
            own_socket=self.place.own_socket,
            public_url=self._settings.portal_url or "",
            stage=self._settings.env.value,
            address_requests_per_minute=self._settings.address_requests_per_minute,
            people=tuple(DemoPerson(**person) for person in self._people),
            cookie_key=self.cookie_key.hex(),
        ).to_json()

    def _take_lock(self) -> bool:
        """Lock the folder, for as long as this worker lives; returns whether it is this worker's."""
        if self._lock is not None:
            return True
        descriptor = os.open(self.place.lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True
