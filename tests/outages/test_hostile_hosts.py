"""Two servers survive a name server that never answers, hostile witnesses and hostile followed logs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from attestlab.log.note.note import Note
from attestlab.log.witnessing.submission_policy import Submission
from support.attestations import make_mint_body, mint
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer, run_command
from support.hostile_server import (
    Answer,
    HostileServer,
    compression_bomb,
    endless_chunks,
    endless_header,
    endless_length,
    make_answer,
    serve_hostile_answers,
)
from support.in_process_server import wait_until
from support.issuers import register_issuer
from support.name_server import NameServer, serve_dns
from support.witnesses import WITNESS_KEY

pytestmark = pytest.mark.soak

ROUNDS, CHECKS = 3, 12
UNFOLDED_BYTES = 512 << 20
MAX_GROWTH_BYTES = UNFOLDED_BYTES // 4


@cache
def make_bomb() -> Answer:
    """Compress half a gigabyte, which takes seconds: not while the tests are collected."""
    return compression_bomb("gzip, gzip", unfolded_bytes=UNFOLDED_BYTES)


HOSTILE: list[Answer] = [lambda request: make_bomb()(request), endless_chunks, endless_length, endless_header]


def cosigned(request: bytes) -> Iterator[bytes]:
    """Returns the response of an honest witness."""
    note = Note.parse(Submission.parse(request.partition(b"\r\n\r\n")[2]).checkpoint)
    at_s = int.from_bytes(note.signatures[1].signature[:8], "big")
    return make_answer(WITNESS_KEY.cosign(note.text, at_s=at_s).encode(), "Content-Type: text/plain")(request)


class Turning:
    """A witness that is hostile in every way in turn, until it is honest."""

    def __init__(self) -> None:
        self.is_honest, self.answered = False, 0

    def __call__(self, request: bytes) -> Iterator[bytes]:
        self.answered += 1
        return (cosigned if self.is_honest else HOSTILE[self.answered % len(HOSTILE)])(request)


def peak_bytes(server: ForkedServer) -> int:
    """The most memory that the process ever held."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def statuses_in_the_outage(server: ForkedServer, issuer: dict[str, Any]) -> list[int]:
    """What clients see who sign in, mint and read while domain-proof checks hang."""
    check = f"/v1/issuers/{issuer['id']}/domain-proof/check"
    person = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    with server.client() as client, ThreadPoolExecutor(CHECKS) as clients:
        checks: list[Future[httpx.Response]] = [clients.submit(client.post, check) for _ in range(CHECKS)]
        minted = mint(client, make_mint_body(issuer))
        seen = [
            minted.status_code,
            client.post("/v1/auth/login", json=person).status_code,
            *(client.get(path).status_code for path in ("/healthz", "/readyz", "/log/checkpoint")),
            client.get(f"/v1/attestations/{minted.json()['id']}/sd-jwt").status_code,
        ]
        assert {done.result().status_code for done in checks} == {503}
    return seen


@pytest.mark.on_postgresql
def test_two_servers_survive_a_silent_name_server_and_a_hostile_witness(
    fork_server: ForkServer, tmp_path: Path, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turning = Turning()
    with serve_dns() as dns, serve_hostile_answers(turning) as witness:
        dns.is_silent = True
        one = founded_among(dns, witness, fork_server, tmp_path, empty_database, monkeypatch)
        with one.start(), one.another().start() as other:
            servers = (one, other)
            with one.client() as client:
                issuer = register_issuer(client)
            before = [peak_bytes(server) for server in servers]
            for _ in range(ROUNDS):
                with ThreadPoolExecutor(2) as both:
                    seen = list(both.map(lambda server: statuses_in_the_outage(server, issuer), servers))
                assert seen == [[201, 200, 200, 200, 200, 200]] * 2
            wait_until(lambda: turning.answered >= len(HOSTILE), True)
            grown = [peak_bytes(server) - was for server, was in zip(servers, before, strict=True)]
            assert max(grown) < MAX_GROWTH_BYTES

            dns.speak()
            turning.is_honest = True

            for server in servers:
                recover(server, issuer, dns)
            one.stop()
            other.stop()
    one.check()


def founded_among(
    dns: NameServer,
    witness: HostileServer,
    fork_server: ForkServer,
    folder: Path,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> ForkedServer:
    """An installation that asks this name server and this witness."""
    policy = folder / "witnesses.policy"
    policy.write_text(f"witness odd {WITNESS_KEY.vkey.cosigner()} {witness.url}\nquorum none\n")
    monkeypatch.setenv("ATTESTLAB_DNS_SERVER", dns.address)
    monkeypatch.setenv("ATTESTLAB_WITNESSES", str(policy))
    return ForkedServer.founded(fork_server, folder / "data", database)


def recover(server: ForkedServer, issuer: dict[str, Any], dns: NameServer) -> None:
    """Everything that hung is well again, without a restart."""
    with server.client() as client:
        challenge = client.get(f"/v1/issuers/{issuer['id']}/domain-proof").json()
        dns.texts[challenge["record_name"]] = [challenge["record_value"]]
        assert client.post(f"/v1/issuers/{issuer['id']}/domain-proof/check").json()["proven"]
        key = WITNESS_KEY.vkey.cosigner()
        wait_until(lambda: key in Note.parse(client.get("/log/checkpoint").text).verify([key]), True)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_following_a_hostile_log_ends_with_3_and_one_line(hostile: Answer, tmp_path: Path) -> None:
    with serve_hostile_answers(hostile) as server:
        command = ("log", "watch", server.url, "--vkey", str(WITNESS_KEY.vkey), "--state", str(tmp_path / "s"))
        done = run_command(*command, "--once")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
