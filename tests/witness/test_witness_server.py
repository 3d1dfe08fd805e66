"""The answers of a witness over real HTTP: the status of each refusal, and callers who mean it no good."""

from __future__ import annotations

import errno
import hashlib
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from attestlab.log.merkle.hashing import EMPTY_ROOT
from attestlab.log.note.note import Note, TreeHead, VerifierKey, sign_checkpoint
from attestlab.log.witnessing.submission_policy import MAX_SUBMISSION_BYTES, PATH, SIZE_TYPE, Submission
from attestlab.witness.server import MAX_DISCARDED_BYTES
from attestlab.witness.service import Witness, create_witness
from support import patient_http
from support.timeouts import WAIT_TIMEOUT_S
from support.witnesses import NOON_S, ORIGIN, LogBranch, WitnessProcess, make_log_signer, open_witness, serve_witness

LOG = LogBranch.of(30)
FORK = LogBranch.of(30, other_from=5)
STRANGER = LogBranch(LOG.leaves, make_log_signer(seed=9))
ELSEWHERE = LogBranch(LOG.leaves, make_log_signer("log.example/elsewhere"))
GOOD = LOG.body(9, 12)
NOTE = LOG.checkpoint(12).encode()


def by(branch: LogBranch, head: TreeHead) -> bytes:
    """A submission of any head, signed with the key of a log, under that log's origin."""
    named = TreeHead(branch.signer.vkey.name, head.size, head.root)
    return Submission(0, (), sign_checkpoint(branch.signer, named, at_s=NOON_S)).text.encode()


OTHER_EMPTY_HEAD = TreeHead(ORIGIN, 0, bytes(32))
OTHER_EMPTY = by(LOG, OTHER_EMPTY_HEAD)


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    with open_witness(tmp_path / "w1") as opened:
        yield opened


@pytest.fixture
def client(witness: Witness) -> Iterator[httpx.Client]:
    """A witness that knows nine entries of the log."""
    witness.add_checkpoint(LOG.body(0, 9))
    with (
        serve_witness(witness, idle_s=4, body_s=4) as url,
        patient_http.open_client(base_url=url) as opened,
    ):
        yield opened


def test_consistent_checkpoint_is_cosigned(witness: Witness, client: httpx.Client) -> None:
    answer = client.post(PATH, content=GOOD)

    assert answer.status_code == 200
    signed = Note.parse(LOG.checkpoint(12) + answer.text).verify([witness.vkey])
    assert set(signed) == {witness.vkey}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"old 9\n\n", 400),
        (b"old 09\n\n" + NOTE, 400),
        (b"old nine\n\n" + NOTE, 400),
        (b"OLD 9\n\n" + NOTE, 400),
        (b"old 9\nAAAA\n\n" + NOTE, 400),
        (b"old 9\n" + b"!" * 44 + b"\n\n" + NOTE, 400),
        (b"old 9\n" + b"A" * 43 + b"=\n" * 64 + b"\n" + NOTE, 400),
        (b"old 9\n" + (b"A" * 43 + b"=\n") * 64 + b"\n" + NOTE, 400),
        (b"old 9\n\n" + NOTE[:-1], 400),
        (b"old 9\n\n\xff" + NOTE, 400),
        (GOOD.replace(b"\n", b"\r\n"), 400),
        (LOG.body(15, 12), 400),
        (STRANGER.body(9, 12), 403),
        (b"old 9\n\n" + NOTE.replace(b"12\n", b"13\n"), 403),
        (ELSEWHERE.body(0, 12), 404),
        (LOG.body(8, 12), 409),
        (LOG.body(0, 12), 409),
        (FORK.body(9, 9), 422),
        (OTHER_EMPTY, 422),
        (by(STRANGER, OTHER_EMPTY_HEAD), 403),
        (by(ELSEWHERE, OTHER_EMPTY_HEAD), 404),
        (by(LOG, TreeHead(ORIGIN, 0, EMPTY_ROOT)), 409),
        (FORK.body(9, 12), 422),
        (b"old 9\n\n" + NOTE, 422),
    ],
    ids=str,
)
def test_every_refusal_has_the_status_that_tlog_witness_gives_it(
    client: httpx.Client, body: bytes, status: int
) -> None:
    """
    And leaves the witness where it was.
    """
    answer = client.post(PATH, content=body)

    assert answer.status_code == status, answer.text
    assert "—" not in answer.text
    assert client.post(PATH, content=GOOD).status_code == 200


def test_conflict_returns_the_known_size(client: httpx.Client) -> None:
    answer = client.post(PATH, content=LOG.body(0, 12))

    assert answer.headers["content-type"] == SIZE_TYPE
    assert answer.text == "9\n"


def test_conflict_about_the_first_checkpoint_returns_zero(tmp_path: Path) -> None:
    with open_witness(tmp_path / "fresh") as fresh, serve_witness(fresh) as url:
        answer = patient_http.post(url + PATH, content=LOG.body(3, 12))
    assert (answer.status_code, answer.text) == (409, "0\n")


def test_first_empty_tree_is_cosigned_if_its_root_is_right(tmp_path: Path) -> None:
    with open_witness(tmp_path / "fresh") as fresh, serve_witness(fresh) as url:
        statuses = [
            patient_http.post(url + PATH, content=body).status_code
            for body in (OTHER_EMPTY, by(LOG, TreeHead(ORIGIN, 0, EMPTY_ROOT)), OTHER_EMPTY, LOG.body(0, 3))
        ]
    assert statuses == [422, 200, 422, 200]


def test_latest_cosigned_checkpoint_is_served_by_origin_hash(witness: Witness, client: httpx.Client) -> None:
    """Without signatures of keys that the witness does not know, which anybody may have appended."""
    path = f"/{hashlib.sha256(ORIGIN.encode()).hexdigest()}/checkpoint"
    stray = STRANGER.signer.sign(LOG.head(12).text)
    line = client.post(PATH, content=GOOD + stray.encode()).text

    answer = client.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    note = Note.parse(answer.text)
    assert TreeHead.parse(note.text) == LOG.head(12)
    assert set(note.verify([LOG.signer.vkey, witness.vkey])) == {LOG.signer.vkey, witness.vkey}
    assert answer.text == f"{note.text}\n{LOG.signer.sign(note.text)}{line}"


@pytest.mark.parametrize("origin", [ELSEWHERE.signer.vkey.name, "", "log.example/silent"])
def test_a_log_without_a_cosigned_checkpoint_has_none_to_serve(tmp_path: Path, origin: str) -> None:
    silent = make_log_signer("log.example/silent", seed=7).vkey
    with open_witness(tmp_path / "w1", silent) as witness, serve_witness(witness) as url:
        assert patient_http.get(f"{url}/{hashlib.sha256(origin.encode()).hexdigest()}/checkpoint").status_code == 404


def test_a_log_may_sign_with_a_key_of_another_name_than_its_origin(tmp_path: Path) -> None:
    key = make_log_signer("keys.example/2026", seed=6)
    text = TreeHead("log.example/with a space", 3, LOG.head(3).root).text
    body = Submission(0, (), f"{text}\n{key.sign(text)}").text.encode()
    create_witness(tmp_path / "w", name="witness.example/w", environ={})
    with WitnessProcess(tmp_path / "w", f"log.example/with a space {key.vkey}") as running:
        answer = patient_http.post(running.url + PATH, content=body)
        by_name = patient_http.post(running.url + PATH, content=by(LogBranch(LOG.leaves, key), LOG.head(3)))
        served = patient_http.get(f"{running.url}/{hashlib.sha256(b'log.example/with a space').hexdigest()}/checkpoint")
        running.stop()

    assert (answer.status_code, by_name.status_code) == (200, 404)
    assert served.text.startswith(text)
    assert key.vkey in Note.parse(served.text).verify([key.vkey])


LATEST = f"/{hashlib.sha256(ORIGIN.encode()).hexdigest()}/checkpoint"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", PATH, 405),
        ("POST", LATEST, 405),
        ("GET", LATEST.upper(), 404),
        ("GET", LATEST[:-1], 404),
        ("POST", "/", 404),
        ("GET", "/x", 404),
    ],
)
def test_witness_serves_two_endpoints_only(client: httpx.Client, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    "content",
    [
        b"old 9\n" + b"x" * (MAX_SUBMISSION_BYTES - 5),
        b"x" * MAX_DISCARDED_BYTES,
        [b"x" * 60_000] * 10,
    ],
    ids=["one byte too many", "as much as is discarded", "of no declared length"],
)
def test_a_body_over_the_limit_is_413_for_a_client_that_sends_it_whole(
    client: httpx.Client, content: bytes | list[bytes]
) -> None:
    answer = client.post(PATH, content=content if isinstance(content, bytes) else iter(content))

    assert (answer.status_code, answer.text) == (413, "Request Entity Too Large\n")
    assert client.post(PATH, content=GOOD).status_code == 200


def test_a_body_at_the_limit_is_read(client: httpx.Client) -> None:
    assert client.post(PATH, content=GOOD.ljust(MAX_SUBMISSION_BYTES, b"x")).status_code == 400


@pytest.mark.parametrize("header", [b"Content-Length: 99999999999", b"Content-Length: 600000\r\nExpect: 100-continue"])
@pytest.mark.parametrize(("path", "status"), [(b"/add-checkpoint", b"413"), (b"/x", b"404")])
def test_a_body_that_is_declared_too_long_is_answered_before_it_is_sent(
    client: httpx.Client, header: bytes, path: bytes, status: bytes
) -> None:
    with socket.create_connection(
        (client.base_url.host, client.base_url.port or 0), timeout=WAIT_TIMEOUT_S
    ) as connection:
        connection.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: w\r\n" + header + b"\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 " + status)


def test_an_endless_body_ends_with_its_connection(client: httpx.Client) -> None:
    """The client may see 413, or that the connection was closed while it was sending."""
    try:
        answer = client.post(PATH, content=(b"x" * 60_000 for _ in range(1000)))
        assert answer.status_code == 413
    except httpx.HTTPError:
        pass
    assert client.post(PATH, content=GOOD).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /add-checkpoint HTTP/1.1\r\nHo",
        b"POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 99\r\n\r\nold",
    ],
)
def test_idle_connection_is_closed_without_delaying_others(client: httpx.Client, sent: bytes) -> None:
    address = (client.base_url.host, client.base_url.port or 0)
    with socket.create_connection(address, timeout=WAIT_TIMEOUT_S) as connection:
        connection.sendall(sent)
        began = time.monotonic()
        assert client.post(PATH, content=GOOD).status_code == 200
        while connection.recv(1000):
            pass
        assert time.monotonic() - began < WAIT_TIMEOUT_S / 2


def test_a_store_that_fails_is_503_also_without_a_log_and_is_opened_again(
    witness: Witness, client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite opens a file for reading only where it cannot have it for both, and would never try again."""
    for_reading = f"{(tmp_path / 'w1' / 'witness.db').as_uri()}?mode=ro"
    spoiled = sqlite3.connect(for_reading, uri=True, check_same_thread=False, isolation_level=None)
    monkeypatch.setattr(witness._store, "_connection", spoiled)

    with monkeypatch.context() as patched:  # a daemon that was started without standard streams
        patched.setattr(sys, "stderr", None)
        patched.setattr(sys, "stdout", None)
        refused = client.post(PATH, content=GOOD)
    answer = client.post(PATH, content=GOOD)

    assert (refused.status_code, "readonly" in refused.text) == (503, True)
    assert answer.status_code == 200


def test_system_error_returns_503(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_body: bytes) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("attestlab.witness.service.Submission.parse", fails)
        refused = client.post(PATH, content=GOOD)

    assert (refused.status_code, refused.text) == (503, "The witness is currently unavailable (EMFILE).\n")
    assert client.post(PATH, content=GOOD).status_code == 200


def test_concurrent_submissions_get_one_tree_per_size_cosigned(tmp_path: Path) -> None:
    """
    Two processes of one witness, many threads, a log with two histories: what was cosigned is one history.
    """
    with ExitStack() as stack:
        doors = [stack.enter_context(open_witness(tmp_path / "w1")) for _ in range(2)]
        urls = [stack.enter_context(serve_witness(door)) for door in doors]
        pool = stack.enter_context(ThreadPoolExecutor(8))
        cosigned: list[TreeHead] = []
        for size in range(1, 13):
            known = max((head.size for head in cosigned), default=0)
            rivals = [(url, branch) for url in urls for branch in (LOG, FORK)] * 2
            answers = pool.map(lambda rival, k=known, s=size: _submit(*rival, k, s), rivals)
            cosigned += [head for head in answers if head is not None]
    roots = {(head.size, head.root) for head in cosigned}
    assert len(roots) == len({size for size, _root in roots}) == 12
    assert any(all(branch.head(size).root == root for size, root in roots) for branch in (LOG, FORK))


def _submit(url: str, branch: LogBranch, old: int, size: int) -> TreeHead | None:
    answer = patient_http.post(url + PATH, content=branch.body(old, size))
    assert answer.status_code in (200, 409, 422)
    return branch.head(size) if answer.status_code == 200 else None


def test_command_serves_until_sigterm(tmp_path: Path) -> None:
    vkey = create_witness(tmp_path / "w", name="witness.example/w", environ={})
    with WitnessProcess(tmp_path / "w", str(LOG.signer.vkey), str(ELSEWHERE.signer.vkey)) as running:
        line = patient_http.post(running.url + PATH, content=LOG.body(0, 12)).text
        other = patient_http.post(running.url + PATH, content=ELSEWHERE.body(0, 3))
        running.stop()

    assert VerifierKey.parse(str(vkey)) in Note.parse(LOG.checkpoint(12) + line).verify([vkey])
    assert other.status_code == 200
