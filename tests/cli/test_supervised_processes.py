"""The parent of several workers gets every signal, also one that comes in the moment before it waits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from attestlab.cli.processes import METRICS_FOLDER
from support.timeouts import WAIT_TIMEOUT_S

# One call of C raises the signal and begins to wait, so the interpreter cannot run its handler in between.
SIGNAL_JUST_BEFORE_THE_WAIT = """
import ctypes, operator, select, signal
from functools import partial
from attestlab.cli.processes import Workers

wait, raise_signal = select.select, ctypes.CDLL(None)["raise"]

def wait_after_signal(*files):
    return list(map(operator.call, [partial(raise_signal, signal.SIGTERM), partial(wait, *files)]))[1]

def work(ready):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    ready()
    signal.sigtimedwait([signal.SIGTERM], 60)

select.select = wait_after_signal
closed = []
code = Workers(2, work, close_sockets=lambda: closed.append(True)).run(ready=lambda: None)
print(code, closed)
"""

WORKER_WITH_METRICS = """
import os, pathlib, signal
from attestlab.cli import processes

def work(ready):
    for kind in ("counter", "gauge_livesum"):
        pathlib.Path(os.environ[processes.METRICS_FOLDER], f"{kind}_{os.getpid()}.db").touch()
    ready()
    os.kill(os.getppid(), signal.SIGTERM)

processes.Workers(1, work, close_sockets=lambda: None).run(ready=lambda: None)
"""


def test_a_signal_just_before_the_parent_waits_ends_all_workers() -> None:
    program = [sys.executable, "-c", SIGNAL_JUST_BEFORE_THE_WAIT]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=WAIT_TIMEOUT_S)

    # The wait is entered again while the workers end, and each time brings a signal.
    code, _, closed = ended.stdout.partition(" ")
    assert (code, "True" in closed, ended.stderr) == ("0", True, "")


def test_levels_of_a_worker_that_ended_are_removed(tmp_path: Path) -> None:
    """Its queue and its connections ended with it; its counts stay."""
    environment = {**os.environ, METRICS_FOLDER: str(tmp_path)}

    subprocess.run([sys.executable, "-c", WORKER_WITH_METRICS], env=environment, timeout=WAIT_TIMEOUT_S, check=True)

    assert [path.name.partition("_")[0] for path in tmp_path.iterdir()] == ["counter"]
