"""Processes that start in a twentieth of a second: forked from one that has imported everything.

What runs is the real thing, `attestlab serve`, any other command or a run of mints, in a separate process
that can be killed, traced and waited for. Only the two seconds of imports are paid once, and passwords are cheap.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, Self, TypeVar

import pytest
import z3

from attestlab.cli import commands, serve
from attestlab.cli import main as cli
from attestlab.core import clock
from attestlab.core.execution import worker_main, worker_processes
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.core.fetching import Fetcher
from attestlab.installation import Installation
from attestlab.settings import Settings
from attestlab.simulation import jobs
from support import fork_client
from support.faults import crash_points, export_job, mint_jobs
from support.fork_client import LENGTH
from support.lab_checks import check_lab
from support.password_hashing import use_cheap_passwords
from support.statement_cache import share_compiled_statements
from support.timeouts import WAIT_TIMEOUT_S

PR_SET_PTRACER, ANY_PROCESS = 0x59616D61, -1
READY = b"ready\n"
START_PROCESS = worker_processes.start_process  # as the product starts worker processes
STREAM_NAMES = ("stdin", "stdout", "stderr")
Result = TypeVar("Result")
# A command, a job or the test of a function imports these when it runs.
IMPORTED_FOR_CHILDREN = (commands, serve, jobs, pytest, z3)


class ForkServer:
    """The process that forks the others; the tests' side of it, and that of the servers which it has forked."""

    def __init__(self, address: str) -> None:
        self.address = address

    def start(
        self,
        what: str,
        *arguments: str,
        out: Path,
        errors: Path,
        is_traced: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> ForkedProcess:
        """A new process that does `what`, in this folder and environment; a traced one waits for its tracer first."""
        with open(os.devnull) as nothing, out.open("a") as written, errors.open("a") as said:
            streams = (nothing.fileno(), written.fileno(), said.fileno())
            return self.start_with(streams, what, *arguments, is_traced=is_traced, environment=environment)

    def start_with(
        self,
        streams: Sequence[int | None],
        what: str,
        *arguments: str,
        is_traced: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> ForkedProcess:
        """The same with its three standard streams; None is a closed one."""
        wish = {"do": what, "arguments": arguments, "is_traced": is_traced, "folder": os.getcwd()}
        wish |= {"environment": {**os.environ, **(environment or {})}, "open": [each is not None for each in streams]}
        return ForkedProcess(self, int(self.ask(wish, [each for each in streams if each is not None])))

    def ask(self, wish: dict[str, Any], streams: Sequence[int] = ()) -> str:
        """One message there, one line back."""
        return fork_client.ask(self.address, wish, streams)


class OwnForkServer(ForkServer):
    """The one of a test process, which starts and ends it."""

    def __init__(self) -> None:
        address = f"\0attestlab-{os.getpid()}-{secrets.token_hex(8)}"  # in no folder (unix(7), abstract addresses)
        super().__init__(address)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.fork_server", address[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == READY, "the process that forks the others did not start"

    def close(self) -> None:
        """End it, and whatever of its children is left."""
        self._process.communicate()


_own: list[OwnForkServer] = []
_starting = threading.Lock()  # two threads of a service may want their worker processes at the same moment


def get_fork_server() -> OwnForkServer:
    """The one of this test process."""
    with _starting:
        if not _own:
            _own.append(OwnForkServer())
        return _own[0]


def close_fork_server() -> None:
    """Close it, where a test needed one."""
    while _own:
        _own.pop().close()


class ForkedProcess:
    """A process that the fork server started, with the interface of `subprocess.Popen`."""

    def __init__(self, fork_server: ForkServer, pid: int) -> None:
        self.pid = pid
        self._fork_server = fork_server
        self._code: int | None = None

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """The exit code, once there is one."""
        if self._code is None:
            self._code = json.loads(self._fork_server.ask({"poll": self.pid}))
        return self._code

    def wait(self, timeout: float = WAIT_TIMEOUT_S) -> int:
        """The exit code; negative for the signal that ended it."""
        deadline = time.monotonic() + timeout
        with suppress(ProcessLookupError):  # it was waited for already
            ended = os.pidfd_open(self.pid)
            select.select([ended], [], [], timeout)
            os.close(ended)
        while (code := self.poll()) is None:  # the parent hears of it after the tracer
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} did not end within {timeout} s")
            time.sleep(0.002)
        return code

    def wait_for_address(self, out: Path, errors: Path) -> str:
        """The address that a server prints once it is ready."""
        deadline = time.monotonic() + WAIT_TIMEOUT_S
        while not out.exists() or not out.read_text().startswith("ready http://"):
            assert time.monotonic() < deadline, errors.read_text()
            assert self.poll() is None, errors.read_text()
            time.sleep(0.005)
        return out.read_text().split()[1]

    def kill(self) -> None:
        """SIGKILL, to the whole process group."""
        if self.poll() is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has not made its process group yet, or has just ended
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
            self.wait()


class ForkedCommand(ForkedProcess):
    """`attestlab ...` with pipes for its output, as `subprocess.Popen` gives them; SIGTERM ends it with its block."""

    def __init__(self, fork_server: ForkServer, what: str, *arguments: str, **environment: str) -> None:
        (out, its_out), (errors, its_errors) = os.pipe(), os.pipe()
        with open(os.devnull) as nothing:
            streams = (nothing.fileno(), its_out, its_errors)
            started = fork_server.start_with(streams, what, *arguments, environment=environment)
        super().__init__(fork_server, started.pid)
        os.close(its_out)
        os.close(its_errors)
        self.stdout: IO[str] = os.fdopen(out)
        self.stderr: IO[str] = os.fdopen(errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_fault: object) -> None:
        if self.poll() is None:
            self.send_signal(signal.SIGTERM)
            self.wait()
        self.stdout.close()
        self.stderr.close()

    def communicate(self, timeout: float = WAIT_TIMEOUT_S) -> tuple[str, str]:
        """What it writes until it ends."""
        with ThreadPoolExecutor(1) as threads:
            errors = threads.submit(self.stderr.read)
            written = self.stdout.read(), errors.result(timeout)
        self.wait(timeout)
        return written

    @property
    def returncode(self) -> int | None:
        return self.poll()


def write_command(folder: Path) -> None:
    """Put an `attestlab` into a folder for shells: a command that is forked."""
    address = get_fork_server().address[1:]
    script = folder / "attestlab"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {fork_client.__file__} {address} "$@"\n')
    script.chmod(0o755)


def start_command(*arguments: str, **environment: str) -> ForkedCommand:
    """Start `attestlab ...`, with these variables on top of the environment."""
    return ForkedCommand(get_fork_server(), "attestlab", *arguments, **environment)


def start_code(code: str, *arguments: str, **environment: str) -> ForkedCommand:
    """Start Python code, in whose `sys.argv` the arguments are those of `attestlab`."""
    return ForkedCommand(get_fork_server(), "code", code, *arguments, **environment)


def run_with(streams: Sequence[int | None], *arguments: str) -> tuple[int, str]:
    """Run `attestlab ...` with its standard input and output; the exit code, and what it wrote to its third stream."""
    with tempfile.TemporaryFile("w+") as errors:
        code = get_fork_server().start_with((*streams, errors.fileno()), "attestlab", *arguments).wait()
        errors.seek(0)
        return code, errors.read()


def call_at_once(function: Callable[..., Result], *calls: tuple[Any, ...]) -> list[Result]:
    """Call a module-level function in one process for each tuple of arguments, all at the same time."""
    workers = WorkerProcesses(len(calls))
    with ThreadPoolExecutor(len(calls)) as threads:
        done = [threads.submit(workers.run_blocking, function, *each, timeout_s=WAIT_TIMEOUT_S) for each in calls]
        results = [each.result() for each in done]
    workers.close()
    return results


def run_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `attestlab ...` to its end, with these variables on top of the environment."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder, "out"), Path(folder, "errors")
        child = get_fork_server().start("attestlab", *arguments, out=out, errors=errors, environment=environment)
        code = child.wait()
        return subprocess.CompletedProcess(arguments, code, out.read_text(), errors.read_text())


class ForkedWorker(ForkedProcess):
    """A worker process with the pipes of its parent."""

    def __init__(self, fork_server: ForkServer, niceness: int) -> None:
        (its_jobs, jobs), (results, its_results) = os.pipe(), os.pipe()
        started = fork_server.start_with((its_jobs, its_results, 2), "worker", str(niceness))
        super().__init__(fork_server, started.pid)
        for each in (its_jobs, its_results):
            os.close(each)
        self.stdin: IO[bytes] = os.fdopen(jobs, "wb")
        self.stdout: IO[bytes] = os.fdopen(results, "rb")


def fork_workers(get: Callable[[], ForkServer]) -> None:
    """Let this process and the ones that it forks start their worker processes from a fork server."""
    worker_processes.start_process = lambda niceness: ForkedWorker(get(), niceness)  # type: ignore[assignment,return-value]


def _attestlab(*arguments: str) -> None:
    sys.argv = ["attestlab", *arguments]
    cli.main()


def _code(code: str, *arguments: str) -> None:
    sys.argv = ["attestlab", *arguments]
    exec(code, vars(sys.modules["__main__"]))  # the test's own; its functions can be pickled there


def _attestlab_ahead(seconds: str, *arguments: str) -> None:
    """The same on a host whose clock is ahead."""
    right = clock.SystemClock.now
    clock.SystemClock.now = lambda self: right(self) + timedelta(seconds=float(seconds))  # type: ignore[method-assign]
    _attestlab(*arguments)


JOBS: dict[str, Callable[..., None]] = {
    "attestlab": _attestlab,
    "attestlab_ahead": _attestlab_ahead,
    "code": _code,
    "init": mint_jobs.init,
    "mint": mint_jobs.mint,
    "die": crash_points.crash_during_change,
    "export": export_job.export_until_killed,
    "worker": worker_main.main,
}


def main(address: str) -> None:
    """Take wishes until stdin ends."""
    use_cheap_passwords()
    fork_workers(lambda: ForkServer(address))
    compile_statements()
    Fetcher().close()  # imports what fetching needs; httpx imports it late
    children: dict[int, int | None] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        os.write(1, READY)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                _answer(connection, listener, children)
    for pid in [pid for pid, code in children.items() if code is None]:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    os._exit(0)  # libraries that look for leaks at exit would report what is frozen


def compile_statements() -> None:
    """Make and check an installation, so that the children have the statements of both compiled."""
    share_compiled_statements()
    with tempfile.TemporaryDirectory() as folder:
        lab, _ = Installation.init(Settings(data=Path(folder)))
        for _ in mint_jobs.mint_repeatedly(lab, 1):
            check_lab(lab)
        lab.close()


def _answer(connection: socket.socket, listener: socket.socket, children: dict[int, int | None]) -> None:
    wish, streams = _receive(connection)
    if "poll" in wish:
        connection.sendall(json.dumps(_poll(wish["poll"], children)).encode())
        return
    gc.freeze()  # or the collections of each child would copy all that was imported
    pid = os.fork()
    if pid == 0:
        listener.close()
        connection.close()
        _run_job(wish, streams)
    for stream in streams:
        os.close(stream)
    children[pid] = None
    connection.sendall(str(pid).encode())


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    with connection.makefile("rb") as message:
        return json.loads(message.read(*LENGTH.unpack(head))), streams


def _poll(pid: int, children: dict[int, int | None]) -> int | None:
    if children[pid] is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        children[pid] = os.waitstatus_to_exitcode(status) if done else None
    return children[pid]


def _run_job(wish: dict[str, Any], streams: list[int]) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir(wish["folder"])
        os.environ.clear()
        os.environ.update(wish["environment"])
        for number, is_open in enumerate(wish["open"]):
            if is_open:
                os.dup2(streams.pop(0), number)
            else:
                os.close(number)
                setattr(sys, STREAM_NAMES[number], None)  # as at Python's own start
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(ANY_PROCESS), 0, 0, 0)  # where only parents may trace
        if wish["is_traced"]:
            _wait_for_tracer()
        JOBS[wish["do"]](*wish["arguments"])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()
        os._exit(code)


def _wait_for_tracer() -> None:
    """Continue once a tracer has attached itself."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
        if time.monotonic() > deadline:
            raise TimeoutError("no process traces this one")
        time.sleep(0.001)


if __name__ == "__main__":
    main("\0" + sys.argv[1])
