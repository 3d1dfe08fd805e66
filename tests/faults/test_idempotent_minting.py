"""An Idempotency-Key acts once: with fifty concurrent requests, and across a crash before the response."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from support import patient_http
from support.attestations import make_mint_body, mint
from support.faults import strace
from support.faults.checks import check_acknowledged_mints, count_attestations
from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClient, read_acknowledgement
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.issuers import register_issuer
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.both_engines

PARALLEL = 50
ROUNDS = 20  # of one worker, in the full form; two workers differ in each round, and few rounds show it
ROUNDS_OF_TWO_WORKERS = 6


def check(server: ForkedServer, answers: Sequence[httpx.Response]) -> None:
    """The answers are all that was minted."""
    lab = server.open_lab()
    check_acknowledged_mints(lab, [read_acknowledgement(answer) for answer in answers])
    assert count_attestations(lab) == len(answers)
    lab.close()


async def at_once(server: ForkedServer, body: dict[str, Any], key: str) -> list[httpx.Response]:
    """The same mint, under the same key, from as many connections as there are repeats."""
    headers = {"X-API-Key": server.made["api_key"], "Idempotency-Key": key}
    limits = httpx.Limits(max_connections=PARALLEL)
    async with patient_http.open_async_client(
        base_url=server.url, headers=headers, limits=limits, verify=NO_TLS_CONTEXT
    ) as http:
        asked = [http.post("/v1/attestations/mint", json=body, timeout=WAIT_TIMEOUT_S) for _ in range(PARALLEL)]
        return await asyncio.gather(*asked)


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_fifty_concurrent_mints_with_one_key_are_one_leaf(
    fork_server: ForkServer, tmp_path: Path, empty_database: str, workers: int
) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", empty_database)
    done: list[httpx.Response] = []
    with server.start("--workers", str(workers)), server.client() as http:
        issuer = register_issuer(http)
        for number in range(ROUNDS if workers == 1 else ROUNDS_OF_TWO_WORKERS):
            body, key = make_mint_body(issuer, subject_reference=f"round {number}"), f"round {number}"
            answers = asyncio.run(at_once(server, body, key))
            done.append(require_one_mint(answers))
            require_replay(mint(http, body, key=key), done[-1])
            require_refusal_of_another_body(mint(http, make_mint_body(issuer), key=key))
        server.stop()
    check(server, done)


def require_one_mint(answers: Sequence[httpx.Response]) -> httpx.Response:
    """One mint and its repeats, all with the same body; the server asks the others to retry."""
    made = [answer for answer in answers if answer.status_code == 201]
    waiting = [answer for answer in answers if answer.status_code == 409]
    assert len(made) + len(waiting) == PARALLEL, {answer.status_code for answer in answers}
    first = [answer for answer in made if "Idempotent-Replayed" not in answer.headers]
    assert len(first) == 1
    assert {answer.content for answer in made} == {first[0].content}
    for answer in waiting:
        assert (answer.json()["code"], answer.headers["Retry-After"]) == ("CONFLICT", "1")
        assert answer.json()["details"]["reason"] == "in_flight"
    return first[0]


def require_replay(answer: httpx.Response, first: httpx.Response) -> None:
    """The first answer again, byte for byte."""
    assert (answer.status_code, answer.content) == (201, first.content)
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert answer.headers["Location"] == first.headers["Location"]


def require_refusal_of_another_body(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (422, "CONFLICT")
    assert answer.json()["details"]["reason"] == "idempotency_key_reused"


@strace.needs_strace
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_retry_after_a_crash_gets_the_committed_response(
    fork_server: ForkServer, tmp_path: Path, empty_database: str, call: str
) -> None:
    """
    The first thing after the commit is the head guard: the server dies as it writes, or syncs, that file.
    """
    server = ForkedServer.founded(fork_server, tmp_path / "data", empty_database)
    with server.start().client() as http:
        client = MintingClient(register_issuer(http))
        client.step(http)
        assert server.process is not None
        only_the_guard = ["-P", str(server.data / "head.guard")]
        with strace.attach(server.process.pid, *only_the_guard, *strace.injection_options(call, 1, "signal=SIGKILL")):
            with contextlib.suppress(httpx.TransportError):
                client.step(http)
            assert server.process.wait() == -signal.SIGKILL
    assert client.pending is not None, "nothing was acknowledged"
    lab = server.open_lab()
    assert count_attestations(lab) == 2, "it was committed"
    lab.close()

    with server.start(), server.client() as http:
        key = client.pending
        client.settle(http)
        assert client.answers[key].headers["Idempotent-Replayed"] == "true"
        server.stop()
    check(server, list(client.answers.values()))
