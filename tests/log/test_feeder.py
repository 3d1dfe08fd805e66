"""The feeder: what witnesses sign is kept and shown, and one that is away, broken or hostile costs nothing else."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.log.integrity import check_cosignatures
from attestlab.log.note.note import Note, VerifierKey
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.witnessing.feeder import LOCK_NAME, Feeder, FeedOutcome
from attestlab.log.witnessing.submission_policy import PATH, SIZE_TYPE, Submission
from attestlab.web.supervisor import Supervisor
from attestlab.witness.service import Witness
from support import patient_http
from support.hostile_server import BOMB_BYTES, compression_bomb, endless_chunks, serve_hostile_answers
from support.hostile_server import Answer as HostileAnswer
from support.log.instance import LogInstance
from support.log.server import serve_log
from support.memory import call_in_little_memory
from support.ports import hold_port
from support.timeouts import WAIT_TIMEOUT_S
from support.witnesses import WITNESS_KEY, make_log_signer, open_witness, serve_witness

Answering = Callable[[str], tuple[int, str, bytes]]  # the submission's text; status, type and body


def vkey_of(log_instance: LogInstance) -> str:
    with log_instance.storage.read() as records:
        return log_instance.log.vkey(records)


def ask(log_instance: LogInstance, *lines: str, quorum: str = "none") -> None:
    """Let the world's log ask these witnesses."""
    log_instance.log.witnesses = TrustPolicy.for_log("\n".join([*lines, f"quorum {quorum}"]), vkey_of(log_instance))


def feeder_of(log_instance: LogInstance, folder: Path, **options: Any) -> Feeder:
    async def write(job: Callable[[Transaction], Any]) -> Any:
        with log_instance.storage.write() as tx:
            return job(tx)

    return Feeder(
        log_instance.log, log_instance.storage, write=write, clock=log_instance.clock, folder=folder, **options
    )


def fed(log_instance: LogInstance, folder: Path) -> dict[str, FeedOutcome]:
    """What came of one round."""

    async def once() -> dict[str, FeedOutcome]:
        feeder = feeder_of(log_instance, folder)
        outcomes = await feeder.feed()
        await feeder.finish()
        return outcomes

    return asyncio.run(once())


def newest(log_instance: LogInstance) -> str:
    with log_instance.storage.read() as records:
        return log_instance.log.head(records).note


@contextmanager
def at_work(log_instance: LogInstance, folder: Path, name: str = "w1") -> Iterator[tuple[Witness, str]]:
    """A witness for the world's log behind its server, and its line in a policy."""
    key = VerifierKey.parse(vkey_of(log_instance))
    with open_witness(folder / name, key, clock=log_instance.clock) as witness, serve_witness(witness) as url:
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
            """Discards the line: no test reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"witness odd {WITNESS_KEY.vkey.cosigner()} http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(WAIT_TIMEOUT_S)
        server.server_close()


@pytest.mark.both_engines
def test_checkpoint_carries_every_cosignature(log_instance: LogInstance, tmp_path: Path) -> None:
    with at_work(log_instance, tmp_path, "w1") as (one, line1), at_work(log_instance, tmp_path, "w2") as (two, line2):
        ask(log_instance, line1, line2)
        for size in (3, 300):
            log_instance.grow(size)
            assert fed(log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED, "w2": FeedOutcome.COSIGNED}
            assert set(Note.parse(newest(log_instance)).verify([one.vkey, two.vkey])) == {one.vkey, two.vkey}
        assert fed(log_instance, tmp_path) == {"w1": FeedOutcome.CURRENT, "w2": FeedOutcome.CURRENT}
    log_instance.require_consistent()


def test_http_checkpoint_carries_the_cosignatures(log_instance: LogInstance, tmp_path: Path) -> None:
    with at_work(log_instance, tmp_path) as (witness, line), serve_log(log_instance) as url:
        ask(log_instance, line, quorum="w1")
        log_instance.grow(3)
        assert patient_http.get(f"{url}/log/checkpoint.witnessed").status_code == 404
        fed(log_instance, tmp_path)
        log_instance.grow(5)

        notes = [
            patient_http.get(f"{url}/log/checkpoint.witnessed").text,
            patient_http.get(f"{url}/v1/log/checkpoints").json()["items"][1]["checkpoint"],
        ]
        assert witness.vkey not in Note.parse(patient_http.get(f"{url}/log/checkpoint").text).verify([witness.vkey])
    assert [set(Note.parse(note).verify([witness.vkey])) for note in notes] == [{witness.vkey}] * 2
    assert [note.split("\n")[1] for note in notes] == ["3", "3"]


def test_unreachable_witness_costs_only_its_cosignature(log_instance: LogInstance, tmp_path: Path) -> None:
    with at_work(log_instance, tmp_path) as (_witness, line), hold_port() as port:
        away = f"witness away {WITNESS_KEY.vkey.cosigner()} http://127.0.0.1:{port}"
        ask(log_instance, line, away, quorum="w1")
        log_instance.grow(3)

        assert fed(log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED, "away": FeedOutcome.UNREACHABLE}

        policy = log_instance.log.witnesses
        assert policy is not None
        assert set(policy.verify_checkpoint(newest(log_instance)).witnesses) == {"w1"}
        demanding = TrustPolicy.for_log(f"{line}\n{away}\ngroup both all w1 away\nquorum both", vkey_of(log_instance))
        with pytest.raises(SignatureInvalid, match="quorum both"):
            demanding.verify_checkpoint(newest(log_instance))


def test_witnessed_head_is_the_newest_with_a_quorum(log_instance: LogInstance, tmp_path: Path) -> None:
    """
    An optional witness alone makes no head that a bundle is made under.
    """
    with (
        at_work(log_instance, tmp_path, "w1") as (_required, line1),
        at_work(log_instance, tmp_path, "w2") as (_optional, line2),
    ):
        for size, lines in ((3, (line1, line2)), (5, (line1,)), (9, (line2,))):
            log_instance.grow(size)
            ask(log_instance, *lines)
            fed(log_instance, tmp_path)
        sizes = []
        for quorum in ("w1", "w2", "both", "either", "none"):
            group = [f"group {quorum} {'all' if quorum == 'both' else 'any'} w1 w2"] if quorum[0] in "be" else []
            ask(log_instance, line1, line2, *group, quorum=quorum)
            with log_instance.storage.read() as records:
                found = log_instance.log.witnessed_checkpoint(records)
                assert found is not None
                sizes.append((quorum, found.size, log_instance.log.head_covering(records, 7).size))
    assert sizes == [("w1", 5, 9), ("w2", 9, 9), ("both", 3, 9), ("either", 9, 9), ("none", 9, 9)]


def test_feeder_continues_from_the_size_in_a_witness_409(log_instance: LogInstance, tmp_path: Path) -> None:
    """
    Its 409 names a size; the submission is made again from there.
    """
    with at_work(log_instance, tmp_path) as (witness, line):
        ask(log_instance, line)
        log_instance.grow(9)
        with log_instance.storage.read() as records:
            note = log_instance.log.head(records).note
        witness.add_checkpoint(Submission(0, (), note).text.encode())
        assert fed(log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED}
        witness_again = newest(log_instance)
        log_instance.grow(12)
        assert fed(log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED}
    assert witness.vkey in Note.parse(witness_again).verify([witness.vkey])


def test_idle_log_is_cosigned_again_every_hour(log_instance: LogInstance, tmp_path: Path) -> None:
    with at_work(log_instance, tmp_path) as (witness, line):
        ask(log_instance, line)
        log_instance.grow(3)
        fed(log_instance, tmp_path)
        log_instance.clock.advance(timedelta(minutes=61))
        assert fed(log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED}
        lines = [found for found in newest(log_instance).splitlines() if found.startswith(f"— {witness.vkey.name} ")]
    assert len(lines) == 1
    assert Note.parse(newest(log_instance)).verify([witness.vkey]) == {
        witness.vkey: int(log_instance.clock.now().timestamp())
    }


def test_second_log_with_the_same_key_is_rejected_by_its_witness(
    sqlite_log_instance: LogInstance, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The records are copied with key and guard, and both copies grow: the first to be fed is the log, the other a fork.
    """
    sqlite_log_instance.grow(5)
    twin = tmp_path / "twin"
    twin.mkdir()
    for name in ("records.db", "records.db-wal", "keyring.key", "head.guard"):
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, twin / name)
    forked = LogInstance.open_copy(twin, sqlite_log_instance)
    with at_work(sqlite_log_instance, tmp_path) as (_witness, line):
        for log_instance, numbers in ((sqlite_log_instance, range(5, 9)), (forked, range(100, 104))):
            log_instance.mint(*numbers)
            ask(log_instance, line, quorum="w1")
        assert fed(sqlite_log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED}
        assert fed(forked, tmp_path) == {"w1": FeedOutcome.REFUSED}
        assert "answers 422" in (said := capfd.readouterr().err)
        assert "the log has forked: run `attestlab log fsck`" in said
        forked.mint(104)
        assert fed(forked, tmp_path) == {"w1": FeedOutcome.REFUSED}
    with forked.storage.read() as records:
        assert forked.log.witnessed_checkpoint(records) is None
    forked.storage.close()


def test_log_with_restored_records_is_rejected_by_its_witness(
    sqlite_log_instance: LogInstance, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    And the operator reads of it.
    """
    sqlite_log_instance.grow(5)
    older = tmp_path / "older"
    older.mkdir()
    for name in ("records.db", "records.db-wal", "keyring.key"):
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, older / name)
    with at_work(sqlite_log_instance, tmp_path) as (_witness, line):
        sqlite_log_instance.grow(9)
        ask(sqlite_log_instance, line)
        assert fed(sqlite_log_instance, tmp_path) == {"w1": FeedOutcome.COSIGNED}
        restored = LogInstance.open_copy(older, sqlite_log_instance)
        ask(restored, line)
        assert fed(restored, tmp_path) == {"w1": FeedOutcome.REFUSED}
        restored.storage.close()
    assert "A witness cosigned 9 entries and the records hold 5: an older copy, or a fork." in capfd.readouterr().err


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda text: (200, "text/plain", b""), FeedOutcome.REFUSED),
        (lambda text: (200, "text/plain", b"<html>hello</html>\n"), FeedOutcome.REFUSED),
        (lambda text: (200, "text/plain", b"x" * 1_000_000), FeedOutcome.REFUSED),
        (
            lambda text: (200, "text/plain", signed_by(make_log_signer("witness.example/w1", 30), text)),
            FeedOutcome.REFUSED,
        ),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text.replace("\n3\n", "\n4\n"))), FeedOutcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text, ahead_s=3600)), FeedOutcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text, ahead_s=2**62)), FeedOutcome.REFUSED),
        (lambda text: (200, "text/plain", signed_by(WITNESS_KEY, text)), FeedOutcome.COSIGNED),
        (lambda text: (409, SIZE_TYPE, b"17\n"), FeedOutcome.REFUSED),
        (lambda text: (409, SIZE_TYPE, b"0\n"), FeedOutcome.REFUSED),
        (lambda text: (409, SIZE_TYPE, b"a lot\n"), FeedOutcome.REFUSED),
        (lambda text: (409, "text/html", b"2\n"), FeedOutcome.REFUSED),
        (lambda text: (409, SIZE_TYPE, b"2\n" if "old 1\n" in text else b"1\n"), FeedOutcome.UNREACHABLE),
        (lambda text: (403, "text/plain", b"who are you\n"), FeedOutcome.REFUSED),
        (lambda text: (413, "text/plain", b"too long\n"), FeedOutcome.REFUSED),
        (lambda text: (422, "text/plain", b"another tree\n"), FeedOutcome.REFUSED),
        (lambda text: (307, "text/plain", b""), FeedOutcome.REFUSED),
        (lambda text: (503, "text/plain", b"later\n"), FeedOutcome.UNREACHABLE),
    ],
    ids=lambda value: value.value if isinstance(value, FeedOutcome) else "",
)
def test_invalid_cosignature_is_not_stored(
    log_instance: LogInstance, tmp_path: Path, answer: Answering, outcome: FeedOutcome
) -> None:
    with answering(answer) as line:
        ask(log_instance, line)
        log_instance.grow(3)
        before = newest(log_instance)
        assert fed(log_instance, tmp_path) == {"odd": outcome}
    assert (newest(log_instance) == before) is (outcome is not FeedOutcome.COSIGNED)
    with log_instance.storage.read() as records:
        assert list(check_cosignatures(records)) == []


@pytest.mark.parametrize(
    "hostile",
    [compression_bomb("gzip"), compression_bomb("gzip, gzip"), endless_chunks],
    ids=["gzip", "twice", "endless"],
)
def test_compressed_witness_response_is_rejected_without_memory_growth(
    log_instance: LogInstance, tmp_path: Path, hostile: HostileAnswer
) -> None:
    log_instance.grow(3)
    with serve_hostile_answers(hostile) as server:
        line = f"witness odd {WITNESS_KEY.vkey.cosigner()} {server.url}"
        records = log_instance.storage.full_url
        job = (feed_opened, records, tmp_path, log_instance.clock, line)
        assert call_in_little_memory(*job, max_bytes=BOMB_BYTES // 2) == {"odd": FeedOutcome.REFUSED}


def feed_opened(records: str, folder: Path, clock: FixedClock, line: str) -> dict[str, FeedOutcome]:
    """What comes of one round in a process that opens the log."""
    opened = LogInstance.open(Storage(records), folder, clock)
    with closing(opened.storage):
        ask(opened, line)
        return fed(opened, folder)


def signed_by(signer: Any, text: str, *, ahead_s: int = 0) -> bytes:
    """A cosignature of what was submitted, in the key's name, at noon."""
    note = Note.parse(Submission.parse(text.encode()).checkpoint)
    at_s = note_time(note) + ahead_s
    line: str = signer.cosign(note.text, at_s=at_s)
    return line.encode()


def note_time(note: Note) -> int:
    """The time that the log's own timestamped signature states."""
    return int.from_bytes(note.signatures[1].signature[:8], "big")


def test_one_process_per_folder_feeds_until_it_dies(log_instance: LogInstance, tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(text: str) -> tuple[int, str, bytes]:
        asked.append(text)
        return 200, "text/plain", signed_by(WITNESS_KEY, text)

    async def both() -> tuple[int, int]:
        events: list[list[str]] = [[], []]
        feeders = [
            feeder_of(log_instance, tmp_path, on_outcome=lambda _witness, outcome, _size, to=to: to.append(outcome))
            for to in events
        ]
        for feeder in feeders:
            feeder.start(Supervisor())
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not any(events):
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        for feeder in feeders:
            await feeder.finish()
        return len(events[0]), len(events[1])

    with answering(answer) as line:
        ask(log_instance, line)
        log_instance.grow(3)
        counts = asyncio.run(both())
    assert sorted(counts) == [0, 1]
    assert len(asked) == 1
    assert (tmp_path / LOCK_NAME).exists()


def test_feeder_without_witnesses_does_nothing(log_instance: LogInstance, tmp_path: Path) -> None:
    assert fed(log_instance, tmp_path) == {}


@pytest.mark.parametrize("url", ["ftp://witness.example", "witness.example"])
def test_witness_url_must_be_http(log_instance: LogInstance, url: str) -> None:
    with pytest.raises(ValidationFailed, match="http"):
        ask(log_instance, f"witness w {WITNESS_KEY.vkey.cosigner()} {url}")


def test_submission_round_trips() -> None:
    sent = Submission(4, (bytes(32), b"\x01" * 32), "log.example\n5\nx\n\n— log.example AAAA\n")
    assert Submission.parse(sent.text.encode()) == sent
    assert PATH == "/add-checkpoint"
