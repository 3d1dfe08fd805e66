"""Logs that exist only as their leaves, so that any tree of them can be signed, and witnesses that are handed them."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tornado.netutil import bind_sockets

from attestlab.core.clock import Clock, FixedClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.log.merkle.hashing import TILE_WIDTH, encode_bundle, leaf_hash, tiles_of
from attestlab.log.merkle.tree import TileCache, Tree, TreeReader
from attestlab.log.note.note import NoteSigner, TreeHead, VerifierKey, sign_checkpoint
from attestlab.log.witnessing.submission_policy import Submission
from attestlab.witness.rules import WitnessedLog
from attestlab.witness.server import WitnessServer
from attestlab.witness.service import Witness, create_witness, unseal_signer
from attestlab.witness.store import WitnessStore
from support.fork_server import get_fork_server
from support.timeouts import WAIT_TIMEOUT_S

ORIGIN = "log.example/watched"
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOON_S = int(NOON.timestamp())
_numbers = itertools.count(1)


def make_log_signer(origin: str = ORIGIN, seed: int = 1) -> NoteSigner:
    """A log's key; the same for the same seed."""
    return NoteSigner(origin, Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


WITNESS_KEY = make_log_signer("witness.example/w1", seed=20)  # of a key that no trust policy names as a witness


@dataclass(frozen=True)
class LogBranch:
    """One history of a log: its leaves, and the key that signs whatever it is asked to."""

    leaves: tuple[bytes, ...]
    signer: NoteSigner

    @classmethod
    def of(cls, count: int, *, other_from: int | None = None, signer: NoteSigner | None = None) -> LogBranch:
        """`count` leaves; from `other_from` on they are others than those of every usual branch."""
        fork = count if other_from is None else other_from
        leaves = [b"leaf %d" % number if number < fork else b"another leaf %d" % number for number in range(count)]
        return cls(tuple(leaves), signer or make_log_signer())

    def reader(self, size: int) -> TreeReader:
        """The tree of the first `size` leaves."""
        update = Tree().with_leaves([leaf_hash(leaf) for leaf in self.leaves])
        return TreeReader(update.tree, size, cache=TileCache(), fetch=_nowhere, fresh=update.full_tiles)

    def head(self, size: int) -> TreeHead:
        """What a checkpoint of `size` leaves states."""
        return TreeHead(self.signer.vkey.name, size, self.reader(size).root)

    def checkpoint(self, size: int) -> str:
        """A signed note of this history."""
        return sign_checkpoint(self.signer, self.head(size), at_s=NOON_S)

    def submission(self, old: int, size: int) -> Submission:
        """What an honest log with this history hands to a witness that knows `old` leaves of it."""
        proof = self.reader(size).consistency(old) if 0 < old <= size else []
        return Submission(old, tuple(proof), self.checkpoint(size))

    def body(self, old: int, size: int) -> bytes:
        """The same as the body of the request."""
        return self.submission(old, size).text.encode()

    def publish(self, folder: Path, size: int, *cosignatures: str) -> None:
        """This history as static files (C2SP tlog-tiles), in the place of whatever was published before."""
        shutil.rmtree(folder, ignore_errors=True)
        reader = self.reader(size)
        for name in tiles_of(size):
            path = folder / name.path
            path.parent.mkdir(parents=True, exist_ok=True)
            start = name.index * TILE_WIDTH
            if name.level is None:
                path.write_bytes(encode_bundle(self.leaves[start : start + name.width]))
            else:
                path.write_bytes(reader.tile(name.level, name.index, name.width))
        folder.mkdir(exist_ok=True)
        (folder / "checkpoint").write_text(self.checkpoint(size) + "".join(cosignatures))


def _nowhere(level: int, index: int) -> bytes:
    raise AssertionError(f"tile {level}/{index} of a branch is not in memory")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Discards the line: no test reads it."""


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """A folder on a web server that knows nothing of logs; its address."""
    folder.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(WAIT_TIMEOUT_S)
        server.server_close()


@contextmanager
def open_witness(folder: Path, *logs: VerifierKey, clock: Clock | None = None) -> Iterator[Witness]:
    """The witness in `folder`, made where there is none; another process of it, if there is one at work."""
    if not (folder / "witness.db").exists():
        create_witness(folder, name=f"witness.example/{folder.name}", environ={})
    with WitnessStore.open(folder) as store:
        signer = unseal_signer(store, Keyring.open(folder, {}))
        yield Witness(
            store,
            signer,
            logs=[WitnessedLog.of(key) for key in logs or [make_log_signer().vkey]],
            clock=clock or FixedClock(NOON),
        )


@contextmanager
def serve_witness(witness: Witness, **patience: float) -> Iterator[str]:
    """The witness behind its true HTTP server in a thread of this process; its address."""
    started, sockets = threading.Event(), bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
    over: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        server = WitnessServer(witness, **patience)
        server.start(sockets)
        over.append((asyncio.get_running_loop(), asyncio.Event()))
        started.set()
        await over[0][1].wait()
        await server.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(WAIT_TIMEOUT_S), "the witness did not start"
    try:
        yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    finally:
        loop, event = over[0]
        loop.call_soon_threadsafe(event.set)
        thread.join(WAIT_TIMEOUT_S)


class WitnessProcess:
    """The real `attestlab witness serve` on a free port, or on one that the test holds, as often as it starts."""

    def __init__(self, folder: Path, *vkeys: str, port: int = 0) -> None:
        self.folder = folder
        self.vkeys = vkeys
        self.port = port
        self.url = ""

    def __enter__(self) -> WitnessProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        logs = [argument for vkey in self.vkeys for argument in ("--log", vkey)]
        out, errors = (self.folder / f"witness.{next(_numbers)}.{name}" for name in ("out", "errors"))
        command = ("witness", "serve", "--data", str(self.folder), "--port", str(self.port), *logs)
        self.process = get_fork_server().start("attestlab", *command, out=out, errors=errors)
        self.url = self.process.wait_for_address(out, errors)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()

    def stop(self) -> None:
        """SIGTERM; it must exit 0."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0
