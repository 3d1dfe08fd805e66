"""Waits until the server of a process that a test has started answers."""

from __future__ import annotations

import subprocess
import time

import httpx

from support import patient_http
from support.timeouts import WAIT_TIMEOUT_S


def wait_for_server(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers at an address, whatever it answers."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while True:
        assert process.poll() is None, "the server has ended"
        assert time.monotonic() < deadline, "the server does not answer"
        try:
            patient_http.get(url)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
