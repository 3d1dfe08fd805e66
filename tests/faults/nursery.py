"""Processes that start in a twentieth of a second: forked from one that has imported everything.

What runs is the real thing, `attestlab serve` or a run of mints, in a process of its own
that can be killed, traced and waited for. Only the two seconds of imports are paid once.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults import dying, exporting, minting

from attestlab import cli, serving

TESTS = Path(__file__).resolve().parents[1]
TRACE_WITHIN_S = 10.0
PR_SET_PTRACER, ANYONE = 0x59616D61, -1


class Nursery:
    """The process that forks the others; the tests' side of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        )

    def start(self, what: str, *arguments: str, out: Path, errors: Path, is_traced: bool = False) -> Child:
        """A new process that does `what`; a traced one waits for its tracer first."""
        wish = {"do": what, "arguments": arguments, "out": str(out), "errors": str(errors), "is_traced": is_traced}
        return Child(self, int(self.ask(wish)))

    def ask(self, wish: dict[str, Any]) -> str:
        """One line there, one line back."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(wish) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self) -> None:
        """End it, and whatever of its children is left."""
        self._process.communicate()


class Child:
    """A process of the nursery, spoken to like a `subprocess.Popen`."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._code: int | None = None

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """The exit code, once there is one."""
        if self._code is None:
            self._code = json.loads(self._nursery.ask({"poll": self.pid}))
        return self._code

    def wait(self, timeout: float = 30.0) -> int:
        """The exit code; negative for the signal that ended it."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} did not end within {timeout} s")
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        """SIGKILL, to the whole process group."""
        os.killpg(self.pid, signal.SIGKILL)
        self.wait()


def _serve(*arguments: str) -> None:
    cli.app(["serve", *arguments])


JOBS: dict[str, Callable[..., None]] = {
    "serve": _serve,
    "init": minting.init,
    "mint": minting.mint,
    "die": dying.die,
    "export": exporting.export,
}


def main() -> None:
    """Take wishes from stdin until it ends."""
    assert serving.run is not None  # imported for the children: a command imports it when it is called
    children: set[int] = set()
    for line in sys.stdin:
        wish = json.loads(line)
        if "poll" in wish:
            print(json.dumps(_code_of(wish["poll"], children)))
            continue
        pid = os.fork()
        if pid == 0:
            _become(wish)
        children.add(pid)
        print(pid)
    for pid in children:
        os.killpg(pid, signal.SIGKILL)


def _code_of(pid: int, children: set[int]) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    if not done:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _become(wish: dict[str, Any]) -> None:
    code = 1
    try:
        os.setsid()
        for number, name in ((1, "out"), (2, "errors")):
            os.dup2(os.open(wish[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
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
    """Let anyone attach, also where only parents may, and go on once someone has."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(ANYONE), 0, 0, 0)
    deadline = time.monotonic() + TRACE_WITHIN_S
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
        if time.monotonic() > deadline:
            raise TimeoutError("nobody traces this process")
        time.sleep(0.001)


if __name__ == "__main__":
    main()
