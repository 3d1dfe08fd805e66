"""Processes that start in a twentieth of a second: forked from one that has imported everything.

What runs is the real thing, `attestlab serve`, any other command or a run of mints, in a process of its own
that can be killed, traced and waited for. Only the two seconds of imports are paid once, and passwords are cheap.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from attestlab.cli import main as cli
from attestlab.cli import serve
from attestlab.core import clock
from support.faults import crash_points, export_job, mint_jobs
from support.password_hashing import use_cheap_passwords
from support.timeouts import WAIT_TIMEOUT_S

PR_SET_PTRACER, ANY_PROCESS = 0x59616D61, -1


class ForkServer:
    """The process that forks the others; the tests' side of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        )

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
        wish = {"do": what, "arguments": arguments, "out": str(out), "errors": str(errors), "is_traced": is_traced}
        wish |= {"folder": os.getcwd(), "environment": {**os.environ, **(environment or {})}}
        return ForkedProcess(self, int(self.ask(wish)))

    def ask(self, wish: dict[str, Any]) -> str:
        """One line there, one line back."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(wish) + "\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()

    def close(self) -> None:
        """End it, and whatever of its children is left."""
        self._process.communicate()


@cache
def get_fork_server() -> ForkServer:
    """The one of this test process."""
    return ForkServer()


def close_fork_server() -> None:
    """Close it, where a test needed one."""
    if get_fork_server.cache_info().currsize:
        get_fork_server().close()


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
            os.killpg(self.pid, signal.SIGKILL)
            self.wait()


def run_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `attestlab ...` to its end, with these variables on top of the environment."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder, "out"), Path(folder, "errors")
        child = get_fork_server().start("attestlab", *arguments, out=out, errors=errors, environment=environment)
        code = child.wait()
        return subprocess.CompletedProcess(arguments, code, out.read_text(), errors.read_text())


def _attestlab(*arguments: str) -> None:
    sys.argv = ["attestlab", *arguments]
    cli.main()


def _attestlab_ahead(seconds: str, *arguments: str) -> None:
    """The same on a host whose clock is ahead."""
    right = clock.SystemClock.now
    clock.SystemClock.now = lambda self: right(self) + timedelta(seconds=float(seconds))  # type: ignore[method-assign]
    _attestlab(*arguments)


JOBS: dict[str, Callable[..., None]] = {
    "attestlab": _attestlab,
    "attestlab_ahead": _attestlab_ahead,
    "init": mint_jobs.init,
    "mint": mint_jobs.mint,
    "die": crash_points.crash_during_change,
    "export": export_job.export_until_killed,
}


def main() -> None:
    """Take wishes from stdin until it ends."""
    use_cheap_passwords()
    assert serve.run is not None  # imported for the children: a command imports it when it is called
    children: set[int] = set()
    for line in sys.stdin:
        wish = json.loads(line)
        if "poll" in wish:
            print(json.dumps(_poll(wish["poll"], children)))
            continue
        pid = os.fork()
        if pid == 0:
            _run_job(wish)
        children.add(pid)
        print(pid)
    for pid in children:
        os.killpg(pid, signal.SIGKILL)


def _poll(pid: int, children: set[int]) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    if not done:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _run_job(wish: dict[str, Any]) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir(wish["folder"])
        os.environ.clear()
        os.environ.update(wish["environment"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "out"), (2, "errors")):
            os.dup2(os.open(wish[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
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
    main()
