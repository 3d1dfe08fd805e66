"""Payloads of 50 MiB are processed in constant memory, and the limit is exact to the character."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from attestlab.core.encoding import b64url_decode
from support.raw_http import RawConnection, get_request, post_request
from support.sample_application import SampleServer

LIMIT_CHARS = 52_428_800
MAX_KILOBYTES = 600_000
PATTERN = b"AAECAwQFBgcICQoLDA0ODw-_" * 2048  # 48 KiB of characters, a whole number of groups
DECODED = b64url_decode(PATTERN.decode())

SERVER = """
import asyncio
from tornado.netutil import bind_sockets
from support.sample_application import make_sample_application
from attestlab.web.http1.server import Server

async def serve():
    server = Server(make_sample_application())
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    print(sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


@pytest.fixture
def sample_server() -> Iterator[tuple[int, int]]:
    """Runs the sample server in its own process; yields its port and process id."""
    tests, root = Path(__file__).parents[1], Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{root}"}
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
        process.terminate()


def peak_kilobytes(pid: int) -> int:
    """Returns the process's peak memory (VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def send_payload(port: int, chars: int, *, before: bytes = b'{"name":"large","payload_b64url":"', after: bytes = b'"}'):
    """Posts a payload of this many characters, generated while it is sent; returns the response."""
    with RawConnection(port) as connection:
        connection.send(post_request("/v1/files", length=len(before) + chars + len(after)) + before)
        whole, rest = divmod(chars, len(PATTERN))
        for _ in range(whole):
            connection.send(PATTERN)
        return connection.send(PATTERN[:rest] + after).response()


def expected_sha256(chars: int) -> str:
    digest = hashlib.sha256()
    for _ in range(chars // len(PATTERN)):
        digest.update(DECODED)
    digest.update(b64url_decode(PATTERN[: chars % len(PATTERN)].decode()))
    return digest.hexdigest()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_four_concurrent_payloads_of_maximum_size_fit_in_600_mb(sample_server: tuple[int, int]) -> None:
    """The payloads need almost no memory: they are hashed as they arrive."""
    port, pid = sample_server
    send_payload(port, 2_000_000)
    before = peak_kilobytes(pid)
    answered_while_busy: list[int] = []
    done = threading.Event()

    def ask() -> None:
        with RawConnection(port) as connection:
            while not done.wait(0.01):
                answered_while_busy.append(connection.send(get_request("/healthz")).response().status)

    asking = threading.Thread(target=ask)
    asking.start()
    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda _: send_payload(port, LIMIT_CHARS), range(4)))
    done.set()
    asking.join()

    facts = [json.loads(response.body) for response in responses]
    assert {(fact["sha256"], fact["size"], fact["chars"]) for fact in facts} == {
        (expected_sha256(LIMIT_CHARS), LIMIT_CHARS // 4 * 3, LIMIT_CHARS)
    }
    assert peak_kilobytes(pid) < MAX_KILOBYTES
    assert peak_kilobytes(pid) - before < 50_000
    assert set(answered_while_busy) == {200}
    assert len(answered_while_busy) > 5


def test_a_payload_one_character_over_the_limit_is_413(sample: SampleServer) -> None:
    response = send_payload(sample.port, LIMIT_CHARS + 1)

    error = json.loads(response.body)
    assert (response.status, error["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert error["details"]["limit_bytes"] == LIMIT_CHARS
    assert error["details"]["scope"] == "payload"


def test_a_large_rest_is_413_of_the_request_body(sample: SampleServer) -> None:
    response = send_payload(sample.port, 2_000_000, after=b'","other":"' + b"x" * 1_100_000 + b'"}')

    assert (response.status, json.loads(response.body)["details"]["scope"]) == (413, "request_body")


def test_a_nested_payload_member_counts_as_rest(sample: SampleServer) -> None:
    response = send_payload(sample.port, 2_000_000, before=b'{"other":{"payload_b64url":"', after=b'"}}')

    assert (response.status, json.loads(response.body)["details"]["scope"]) == (413, "request_body")


@pytest.mark.parametrize("chars", [0, 4, 1002, 65_000, 1_000_000, 1_048_000, 1_048_600, 3_000_002])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{"payload_b64url":"', b'","other":{"a":[1,"AAEC"]}}'),
        (b'{"other":{"a":[1,"AAEC"]} , "payload\\u005fb64url" : "', b'"}'),
    ],
)
def test_small_and_large_payloads_have_the_same_digest_and_sizes(
    sample: SampleServer, chars: int, before: bytes, after: bytes
) -> None:
    """The route gets an empty string in place of the payload, whatever its size."""
    facts = json.loads(send_payload(sample.port, chars, before=before, after=after).body)

    assert facts == {
        "sha256": expected_sha256(chars),
        "size": chars * 3 // 4,
        "chars": chars,
        "seen": "",
        "parsed": "",
        "other": {"a": [1, "AAEC"]},
    }


def test_a_payload_that_occurs_twice_is_taken_from_its_member(client: httpx.Client) -> None:
    facts = client.post("/v1/files", json={"other": "QUJD", "payload_b64url": "QUJD"}).json()

    assert (facts["chars"], facts["seen"], facts["other"]) == (4, "", "QUJD")


def test_a_body_without_payload_has_no_payload_facts(client: httpx.Client) -> None:
    assert client.post("/v1/files", json={"payload_b64url": None}).json()["size"] == -1
    assert client.post("/v1/files", json={}).json()["size"] == -1
    assert client.post("/v1/files", json={"payload_b64url": 5}).status_code == 400


def test_invalid_base64url_in_a_large_payload_is_400(sample: SampleServer) -> None:
    response = send_payload(sample.port, 2_000_000, after=b'!"}')

    assert (response.status, json.loads(response.body)["details"]["fields"][0]["field"]) == (400, "/payload_b64url")


def test_two_payloads_are_400(sample: SampleServer) -> None:
    response = send_payload(sample.port, 2_000_000, after=b'","payload\\u005Fb64url":"QUJD"}')

    assert (response.status, json.loads(response.body)["details"]["fields"][0]["code"]) == (400, "duplicate_member")
