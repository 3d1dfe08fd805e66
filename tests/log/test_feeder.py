"""The feeder: what witnesses sign is kept and shown, and one that is away, broken or hostile costs nothing else."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from log_served import serving
from log_world import World
from witness_world import WITNESS_KEY, log_signer, opened_witness, witness_served

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.log.integrity import check_cosignatures
from attestlab.log.note.note import Note, VerifierKey
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.witnessing.feeder import LOCK_NAME, Feeder, Outcome
from attestlab.log.witnessing.submission_policy import PATH, SIZE_TYPE, Submission
from attestlab.web.supervisor import Supervisor
from attestlab.witness.service import Witness
from support.hostile_server import BOMB_BYTES, compression_bomb, endless_chunks, serve_hostile_answers
from support.hostile_server import Answer as HostileAnswer

Answering = Callable[[str], tuple[int, str, bytes]]  # the submission's text; status, type and body


def vkey_of(world: World) -> str:
    with world.storage.read() as records:
        return world.log.vkey(records)


def ask(world: World, *lines: str, quorum: str = "none") -> None:
    """Let the world's log ask these witnesses."""
    world.log.witnesses = TrustPolicy.for_log("\n".join([*lines, f"quorum {quorum}"]), vkey_of(world))


def feeder_of(world: World, folder: Path, **options: Any) -> Feeder:
    async def write(job: Callable[[Transaction], Any]) -> Any:
        with world.storage.write() as tx:
            return job(tx)

    return Feeder(world.log, world.storage, write=write, clock=world.clock, folder=folder, **options)


def fed(world: World, folder: Path) -> dict[str, Outcome]:
    """What came of one round."""

    async def once() -> dict[str, Outcome]:
        feeder = feeder_of(world, folder)
        outcomes = await feeder.feed()
        await feeder.finish()
        return outcomes

    return asyncio.run(once())


def newest(world: World) -> str:
    with world.storage.read() as records:
        return world.log.head(records).note


@contextmanager
def at_work(world: World, folder: Path, name: str = "w1") -> Iterator[tuple[Witness, str]]:
    """A witness for the world's log behind its server, and its line in a policy."""
    key = VerifierKey.parse(vkey_of(world))
    with opened_witness(folder / name, key, clock=world.clock) as witness, witness_served(witness) as url:
        yield witness, f"witness {name} {witness.vkey} {url}"


@contextmanager
def answering(answer: Answering) -> Iterator[str]:
    """Something that is no witness, and how it answers; its line in a policy."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, kind, body = answer(text)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"witness odd {WITNESS_KEY.vkey.cosigner()} http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


@pytest.mark.both_engines
def test_checkpoint_carries_every_cosignature(world: World, tmp_path: Path) -> None:
    with at_work(world, tmp_path, "w1") as (one, line1), at_work(world, tmp_path, "w2") as (two, line2):
        ask(world, line1, line2)
        for size in (3, 300):
            world.grow(size)
            assert fed(world, tmp_path) == {"w1": Outcome.COSIGNED, "w2": Outcome.COSIGNED}
            assert set(Note.parse(newest(world)).verify([one.vkey, two.vkey])) == {one.vkey, two.vkey}
        assert fed(world, tmp_path) == {"w1": Outcome.CURRENT, "w2": Outcome.CURRENT}
    world.require_consistent()


def test_http_checkpoint_carries_the_cosignatures(world: World, tmp_path: Path) -> None:
    with at_work(world, tmp_path) as (witness, line), serving(world) as url:
        ask(world, line, quorum="w1")
        world.grow(3)
        assert httpx.get(f"{url}/log/checkpoint.witnessed").status_code == 404
        fed(world, tmp_path)
        world.grow(5)

        notes = [
            httpx.get(f"{url}/log/checkpoint.witnessed").text,
            httpx.get(f"{url}/v1/log/checkpoints").json()["items"][1]["checkpoint"],
        ]
        assert witness.vkey not in Note.parse(httpx.get(f"{url}/log/checkpoint").text).verify([witness.vkey])
    assert [set(Note.parse(note).verify([witness.vkey])) for note in notes] == [{witness.vkey}] * 2
    assert [note.split("\n")[1] for note in notes] == ["3", "3"]


def test_unreachable_witness_costs_only_its_cosignature(world: World, tmp_path: Path) -> None:
    with at_work(world, tmp_path) as (_witness, line), socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody listens
        away = f"witness away {WITNESS_KEY.vkey.cosigner()} http://127.0.0.1:{silent.getsockname()[1]}"
        ask(world, line, away, quorum="w1")
        world.grow(3)

        assert fed(world, tmp_path) == {"w1": Outcome.COSIGNED, "away": Outcome.UNREACHABLE}

        policy = world.log.witnesses
        assert policy is not None
        assert set(policy.verify_checkpoint(newest(world)).witnesses) == {"w1"}
        demanding = TrustPolicy.for_log(f"{line}\n{away}\ngroup both all w1 away\nquorum both", vkey_of(world))
        with pytest.raises(SignatureInvalid, match="quorum both"):
            demanding.verify_checkpoint(newest(world))


def test_witnessed_head_is_the_newest_with_a_quorum(world: World, tmp_path: Path) -> None:
    """
    An optional witness alone makes no head that a bundle is made under.
    """
    with at_work(world, tmp_path, "w1") as (_required, line1), at_work(world, tmp_path, "w2") as (_optional, line2):
        for size, lines in ((3, (line1, line2)), (5, (line1,)), (9, (line2,))):
            world.grow(size)
            ask(world, *lines)
            fed(world, tmp_path)
        sizes = []
        for quorum in ("w1", "w2", "both", "either", "none"):
            group = [f"group {quorum} {'all' if quorum == 'both' else 'any'} w1 w2"] if quorum[0] in "be" else []
            ask(world, line1, line2, *group, quorum=quorum)
            with world.storage.read() as records:
                found = world.log.witnessed_checkpoint(records)
                assert found is not None
                sizes.append((quorum, found.size, world.log.head_covering(records, 7).size))
    assert sizes == [("w1", 5, 9), ("w2", 9, 9), ("both", 3, 9), ("either", 9, 9), ("none", 9, 9)]


def test_feeder_continues_from_the_size_in_a_witness_409(world: World, tmp_path: Path) -> None:
    """
    Its 409 names a size; the submission is made again from there.
    """
    with at_work(world, tmp_path) as (witness, line):
        ask(world, line)
        world.grow(9)
        with world.storage.read() as records:
            note = world.log.head(records).note
        witness.add_checkpoint(Submission(0, (), note).text.encode())
        assert fed(world, tmp_path) == {"w1": Outcome.COSIGNED}
        witness_again = newest(world)
        world.grow(12)
        assert fed(world, tmp_path) == {"w1": Outcome.COSIGNED}
    assert witness.vkey in Note.parse(witness_again).verify([witness.vkey])


def test_idle_log_is_cosigned_again_every_hour(world: World, tmp_path: Path) -> None:
    with at_work(world, tmp_path) as (witness, line):
        ask(world, line)
        world.grow(3)
        fed(world, tmp_path)
        world.clock.advance(timedelta(minutes=61))
        assert fed(world, tmp_path) == {"w1": Outcome.COSIGNED}
        lines = [found for found in newest(world).splitlines() if found.startswith(f"— {witness.vkey.name} ")]
    assert len(lines) == 1
    assert Note.parse(newest(world)).verify([witness.vkey]) == {witness.vkey: int(world.clock.now().timestamp())}


def test_second_log_with_the_same_key_is_rejected_by_its_witness(
    sqlite_world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The records are copied with key and guard, and both copies grow: the first to be fed is the log, the other a fork.
    """
    sqlite_world.grow(5)
    twin = tmp_path / "twin"
    twin.mkdir()
    for name in ("records.db", "records.db-wal", "keyring.key", "head.guard"):
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, twin / name)
    forked = World.opened_in(twin, sqlite_world)
    with at_work(sqlite_world, tmp_path) as (_witness, line):
        for world, numbers in ((sqlite_world, range(5, 9)), (forked, range(100, 104))):
            world.mint(*numbers)
            ask(world, line, quorum="w1")
        assert fed(sqlite_world, tmp_path) == {"w1": Outcome.COSIGNED}
        assert fed(forked, tmp_path) == {"w1": Outcome.REFUSED}
        assert "answers 422" in (said := capfd.readouterr().err)
        assert "the log has forked: run `attestlab log fsck`" in said
        forked.mint(104)
        assert fed(forked, tmp_path) == {"w1": Outcome.REFUSED}
    with forked.storage.read() as records:
        assert forked.log.witnessed_checkpoint(records) is None
    forked.storage.close()


def test_log_with_restored_records_is_rejected_by_its_witness(
    sqlite_world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    And the operator reads of it.
    """
    sqlite_world.grow(5)
    older = tmp_path / "older"
    older.mkdir()
    for name in ("records.db", "records.db-wal", "keyring.key"):
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, older / name)
    with at_work(sqlite_world, tmp_path) as (_witness, line):
        sqlite_world.grow(9)
        ask(sqlite_world, line)
        assert fed(sqlite_world, tmp_path) == {"w1": Outcome.COSIGNED}
        restored = World.opened_in(older, sqlite_world)
        ask(restored, line)
        assert fed(restored, tmp_path) == {"w1": Outcome.REFUSED}
        restored.storage.close()
    assert "A witness cosigned 9 entries and the records hold 5: an older copy, or a fork." in capfd.readouterr().err


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda text: (200, "text/plain", b""), Outcome.REFUSED),
        (lambda text: (200, "text/plain", b"<html>hello</html>\n"), Outcome.REFUSED),
        (lambda text: (200, "text/plain", b"x" * 1_000_000), Outcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(log_signer("witness.example/w1", 30), text)), Outcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text.replace("\n3\n", "\n4\n"))), Outcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text, ahead_s=3600)), Outcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text, ahead_s=2**62)), Outcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text)), Outcome.COSIGNED),
        (lambda text: (409, SIZE_TYPE, b"17\n"), Outcome.REFUSED),
        (lambda text: (409, SIZE_TYPE, b"0\n"), Outcome.REFUSED),
        (lambda text: (409, SIZE_TYPE, b"a lot\n"), Outcome.REFUSED),
        (lambda text: (409, "text/html", b"2\n"), Outcome.REFUSED),
        (lambda text: (409, SIZE_TYPE, b"2\n" if "old 1\n" in text else b"1\n"), Outcome.UNREACHABLE),
        (lambda text: (403, "text/plain", b"who are you\n"), Outcome.REFUSED),
        (lambda text: (413, "text/plain", b"too long\n"), Outcome.REFUSED),
        (lambda text: (422, "text/plain", b"another tree\n"), Outcome.REFUSED),
        (lambda text: (307, "text/plain", b""), Outcome.REFUSED),
        (lambda text: (503, "text/plain", b"later\n"), Outcome.UNREACHABLE),
    ],
    ids=lambda value: value.value if isinstance(value, Outcome) else "",
)
def test_invalid_cosignature_is_not_stored(world: World, tmp_path: Path, answer: Answering, outcome: Outcome) -> None:
    with answering(answer) as line:
        ask(world, line)
        world.grow(3)
        before = newest(world)
        assert fed(world, tmp_path) == {"odd": outcome}
    assert (newest(world) == before) is (outcome is not Outcome.COSIGNED)
    with world.storage.read() as records:
        assert list(check_cosignatures(records)) == []


@pytest.mark.parametrize(
    "hostile",
    [compression_bomb("gzip"), compression_bomb("gzip, gzip"), endless_chunks],
    ids=["gzip", "twice", "endless"],
)
def test_compressed_witness_response_is_rejected_without_memory_growth(
    world: World, tmp_path: Path, hostile: HostileAnswer
) -> None:
    world.grow(3)
    with serve_hostile_answers(hostile) as server:
        ask(world, f"witness odd {WITNESS_KEY.vkey.cosigner()} {server.url}")
        tracemalloc.start()
        try:
            assert fed(world, tmp_path) == {"odd": Outcome.REFUSED}
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peak < BOMB_BYTES // 4


def signed_by(signer: Any, text: str, *, ahead_s: int = 0) -> bytes:
    """A cosignature of what was submitted, in the key's name, at noon."""
    note = Note.parse(Submission.parse(text.encode()).checkpoint)
    at_s = note_time(note) + ahead_s
    line: str = signer.cosign(note.text, at_s=at_s)
    return line.encode()


def note_time(note: Note) -> int:
    """The time that the log's own timestamped signature states."""
    return int.from_bytes(note.signatures[1].signature[:8], "big")


def test_one_process_per_folder_feeds_until_it_dies(world: World, tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(text: str) -> tuple[int, str, bytes]:
        asked.append(text)
        return 200, "text/plain", signed_by(WITNESS_KEY, text)

    async def both() -> tuple[int, int]:
        told: list[list[str]] = [[], []]
        feeders = [
            feeder_of(world, tmp_path, on_outcome=lambda _witness, outcome, _size, to=to: to.append(outcome))
            for to in told
        ]
        for feeder in feeders:
            feeder.start(Supervisor())
        for _ in range(200):
            await asyncio.sleep(0.02)
            if any(told):
                break
        await asyncio.sleep(0.1)
        for feeder in feeders:
            await feeder.finish()
        return len(told[0]), len(told[1])

    with answering(answer) as line:
        ask(world, line)
        world.grow(3)
        counts = asyncio.run(both())
    assert sorted(counts) == [0, 1]
    assert len(asked) == 1
    assert (tmp_path / LOCK_NAME).exists()


def test_feeder_without_witnesses_does_nothing(world: World, tmp_path: Path) -> None:
    assert fed(world, tmp_path) == {}


@pytest.mark.parametrize("url", ["ftp://witness.example", "witness.example"])
def test_witness_url_must_be_http(world: World, url: str) -> None:
    with pytest.raises(ValidationFailed, match="http"):
        ask(world, f"witness w {WITNESS_KEY.vkey.cosigner()} {url}")


def test_submission_round_trips() -> None:
    sent = Submission(4, (bytes(32), b"\x01" * 32), "log.example\n5\nx\n\n— log.example AAAA\n")
    assert Submission.parse(sent.text.encode()) == sent
    assert PATH == "/add-checkpoint"
