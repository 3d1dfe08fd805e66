"""Entry point of a witness process: open its store, listen, serve until a signal, close."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from tornado.netutil import bind_sockets

from attestlab.core.clock import SystemClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.web import logging_setup
from attestlab.witness.rules import WitnessedLog
from attestlab.witness.server import serve
from attestlab.witness.service import Witness, unseal_signer
from attestlab.witness.store import WitnessStore


def run_witness(data: Path, *, logs: Iterable[str], host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve the witness in `data` for these logs, each `VKEY` or `ORIGIN VKEY`, until a signal stops it.

    Raises:
        NotFound: `data` holds no witness.
        ValidationFailed: a verifier key is malformed.
    """
    logging_setup.capture_library_logs()
    witnessed = [WitnessedLog.parse(text) for text in logs]
    with WitnessStore.open(data) as store:
        witness = Witness(
            store, unseal_signer(store, Keyring.open(data, os.environ)), logs=witnessed, clock=SystemClock()
        )
        sockets = bind_sockets(port, host)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{sockets[0].getsockname()[1]}"
        asyncio.run(serve(witness, sockets, ready=lambda: announce(url)))
