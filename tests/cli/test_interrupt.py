"""Ctrl-C: a terminal interrupts a server and all processes that it has started, and they end without complaints."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from support import patient_http
from support.dashboards.demo_server import find_dashboards
from support.fork_server import start_command
from support.timeouts import WAIT_TIMEOUT_S


def test_ctrl_c_ends_a_server_and_its_dashboards_without_complaints(tmp_path: Path) -> None:
    with start_command("serve", "--port", "0", "--data", str(tmp_path)) as process:
        url = process.stdout.readline().split()[1]
        patient_http.get(f"{url}/dash/sign-in")
        assert len(find_dashboards(process.pid)) == 1
        os.killpg(process.pid, signal.SIGINT)
        _, talk = process.communicate(timeout=WAIT_TIMEOUT_S)  # until the last process closes the pipe

    assert process.returncode == 0
    assert "Traceback" not in talk
    assert "nanobind" not in talk
