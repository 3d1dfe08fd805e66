"""The floor: the minimum work of a Tornado server for the same request.

`POST /verify` parses the JSON and verifies one Ed25519 signature. `POST /mint` parses
the JSON, makes one Ed25519 signature and responds when one row is durable in SQLite
(WAL, `synchronous=FULL`); rows that wait while a commit is in flight go into the next.
`POST /record` does the same without a signature. `GET /bytes/NAME` answers the bytes of a file of its folder.
`make bench` measures the cost of everything that AttestLab does in addition.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import queue
import secrets
import sqlite3
import threading
from base64 import urlsafe_b64encode
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

BATCH_CAP = 256
STATEMENT = b"a statement as long as the one that an attestation signs ".ljust(420, b".")

Row = tuple[bytes, bytes, bytes]
Waiting = tuple[Row, "asyncio.Future[None]"]


class GroupCommit:
    """One writer thread, which owns the connection and commits all waiting rows together."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._queue: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def insert(self, row: Row) -> asyncio.Future[None]:
        """Return a future that is done when the row is durable."""
        future = self._loop.create_future()
        self._queue.put((row, future))
        return future

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE minted (id BLOB PRIMARY KEY, statement BLOB, signature BLOB)")
        while True:
            batch = self._next_batch()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO minted VALUES (?, ?, ?)", [row for row, _ in batch])
            connection.execute("COMMIT")
            self._loop.call_soon_threadsafe(_resolve_all, batch)

    def _next_batch(self) -> list[Waiting]:
        batch = [self._queue.get()]
        while len(batch) < BATCH_CAP:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch


def _resolve_all(batch: list[Waiting]) -> None:
    for _, future in batch:
        future.set_result(None)


class Verify(RequestHandler):
    def initialize(self, key: Ed25519PrivateKey) -> None:
        self.public = key.public_key()
        self.signature = key.sign(STATEMENT)

    def post(self) -> None:
        body = json.loads(self.request.body)
        self.public.verify(self.signature, STATEMENT)
        self.write({"attestation_id": body["attestation_id"], "verdict": "VALID"})


class Mint(RequestHandler):
    def initialize(self, key: Ed25519PrivateKey, records: GroupCommit) -> None:
        self.key = key
        self.records = records

    async def post(self) -> None:
        body = json.loads(self.request.body)
        signature = self.key.sign(STATEMENT)
        identifier = secrets.token_bytes(16)
        await self.records.insert((identifier, STATEMENT, signature))
        self.set_status(201)
        self.write({"id": identifier.hex(), "kid": body["kid"], "signature": urlsafe_b64encode(signature).decode()})


class Record(RequestHandler):
    def initialize(self, records: GroupCommit) -> None:
        self.records = records

    async def post(self) -> None:
        body = json.loads(self.request.body)
        identifier = secrets.token_bytes(16)
        await self.records.insert((identifier, self.request.body, b""))
        self.set_status(201)
        self.write({"id": identifier.hex(), "score": body["score"]})


class Bytes(RequestHandler):
    def initialize(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> None:
        self.set_header("Content-Type", "text/html; charset=UTF-8")
        self.write(_read_once(self.folder / name))


@cache
def _read_once(path: Path) -> bytes:
    return path.read_bytes()


async def serve(port: int, data: Path) -> None:
    """Serve until the process ends; the first line on stdout is the address."""
    key = Ed25519PrivateKey.generate()
    records = GroupCommit(data / "floor.sqlite", asyncio.get_running_loop())
    application = Application(
        [
            ("/verify", Verify, {"key": key}),
            ("/mint", Mint, {"key": key, "records": records}),
            ("/record", Record, {"records": records}),
            (r"/bytes/([a-z]+)", Bytes, {"folder": data}),
        ]
    )
    server = HTTPServer(application)
    sockets = bind_sockets(port, "127.0.0.1")
    server.add_sockets(sockets)
    print(f"ready http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.data))
