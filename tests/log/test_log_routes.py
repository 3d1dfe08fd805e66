"""The public paths of the log over real HTTP: what C2SP clients fetch, and JSON for people."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
from tlog_scales.backend import HttpBackend
from tlog_scales.reader import TilesReader
from tlog_scales.signing import Vkey

from attestlab.core.clock import FixedClock
from attestlab.log.merkle import hashing
from support import patient_http
from support.log.instance import ISSUER_ID, LogInstance, make_entry
from support.log.server import serve_log

IMMUTABLE = "public, max-age=31536000, immutable"


@pytest.fixture(scope="module")
def clock() -> FixedClock:
    """The quiet noon of every test, for as long as this module's log."""
    return FixedClock(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, clock: FixedClock) -> Iterator[LogInstance]:
    """A log with 300 entries in two batches; nothing here changes it."""
    log_instance = LogInstance.create_in(tmp_path_factory.mktemp("log"), clock)
    log_instance.grow(5)
    log_instance.grow(300)
    yield log_instance
    log_instance.storage.close()


@pytest.fixture(scope="module")
def client(served: LogInstance) -> Iterator[httpx.Client]:
    """A caller without credentials."""
    with serve_log(served) as address, patient_http.open_client(base_url=address) as opened:
        yield opened


def digest(named: str) -> bytes:
    """The bytes of `sha256:<hex>`."""
    algorithm, _, value = named.partition(":")
    assert algorithm == "sha256"
    return bytes.fromhex(value)


def test_checkpoint_response_requires_revalidation(served: LogInstance, client: httpx.Client) -> None:
    answer = client.get("/log/checkpoint")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert served.trust().verify_checkpoint(answer.text).size == 300

    unchanged = client.get("/log/checkpoint", headers={"If-None-Match": answer.headers["etag"]})
    assert unchanged.status_code == 304


@pytest.mark.parametrize(
    ("path", "length"),
    [("0/000", 8192), ("0/001.p/44", 44 * 32), ("0/000.p/5", 160), ("1/000.p/1", 32)],
)
def test_tiles_are_cached_as_immutable(client: httpx.Client, path: str, length: int) -> None:
    answer = client.get(f"/log/tile/{path}")
    assert (answer.status_code, len(answer.content)) == (200, length)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["cache-control"] == IMMUTABLE


def test_an_entry_bundle_has_the_entries(client: httpx.Client, clock: FixedClock) -> None:
    answer = client.get("/log/tile/entries/001.p/44")
    assert hashing.decode_bundle(answer.content) == [make_entry(n, clock) for n in range(256, 300)]
    assert answer.headers["cache-control"] == IMMUTABLE


@pytest.mark.parametrize("path", ["0/001", "0/001.p/45", "0/0", "2/000.p/1", "64/000", "entries", "entries/002", "x"])
def test_missing_tile_is_not_cached(client: httpx.Client, path: str) -> None:
    """
    A cache that kept the refusal would hide the tile for a year once it exists.
    """
    answer = client.get(f"/log/tile/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert answer.headers["cache-control"] == "no-store"


def test_an_outside_client_proves_every_entry_over_http(
    served: LogInstance, client: httpx.Client, clock: FixedClock
) -> None:
    reader = TilesReader(HttpBackend(f"{client.base_url}/log"))
    checkpoint = reader.get_checkpoint()
    checkpoint.verify(Vkey.from_string(client.get("/v1/log/vkey").json()["vkey"]))
    assert reader.calculate_root_hash() == checkpoint.root_hash
    for index in (0, 5, 255, 256, 299):
        proof = reader.get_inclusion_proof(index, 300)
        proof.check(hashing.leaf_hash(make_entry(index, clock)), checkpoint.root_hash)


def test_the_head_is_the_checkpoint_read(served: LogInstance, client: httpx.Client) -> None:
    head = client.get("/v1/log/head").json()
    accepted = served.trust().verify_checkpoint(head["checkpoint"])
    assert (head["origin"], head["tree_size"]) == (accepted.origin, accepted.size)
    assert digest(head["root_hash"]) == accepted.root
    assert head["timestamp"] == "2026-11-21T12:00:00.000Z"


def test_checkpoints_come_newest_first_and_page_by_page(served: LogInstance, client: httpx.Client) -> None:
    first = client.get("/v1/log/checkpoints", params={"limit": 2}).json()
    rest = client.get("/v1/log/checkpoints", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    shown = [*first["items"], *rest["items"]]
    assert [item["tree_size"] for item in shown] == [300, 5, 0]
    assert rest["next_cursor"] is None
    for item in shown:
        assert served.trust().verify_checkpoint(item["checkpoint"]).root == digest(item["root_hash"])


@pytest.mark.parametrize(("index", "size"), [(0, None), (299, None), (4, 5), (0, 1)])
def test_a_proof_leads_to_its_root(client: httpx.Client, clock: FixedClock, index: int, size: int | None) -> None:
    asked = {} if size is None else {"tree_size": size}
    proof = client.get(f"/v1/log/proofs/{index}", params=asked).json()
    assert list(proof) == ["log_index", "tree_size", "leaf_hash", "root_hash", "hashes"]
    assert proof["tree_size"] == (size or 300)
    hashing.verify_inclusion(
        index,
        proof["tree_size"],
        hashing.leaf_hash(make_entry(index, clock)),
        [digest(value) for value in proof["hashes"]],
        digest(proof["root_hash"]),
    )


def test_consistency_leads_to_both_roots(client: httpx.Client) -> None:
    proof = client.get("/v1/log/consistency", params={"from": 5, "to": 300}).json()
    assert list(proof) == ["from", "to", "from_root", "to_root", "hashes"]
    hashes = [digest(value) for value in proof["hashes"]]
    hashing.verify_consistency(5, 300, digest(proof["from_root"]), digest(proof["to_root"]), hashes)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/log/proofs/300", 404),
        ("/v1/log/proofs/0?tree_size=301", 400),
        ("/v1/log/proofs/5?tree_size=5", 404),
        ("/v1/log/proofs/0?tree_size=-1", 400),
        ("/v1/log/proofs/0?tree_size=99999999999999999999", 400),
        ("/v1/log/proofs/x", 400),
        ("/v1/log/consistency?from=6&to=5", 400),
        ("/v1/log/consistency?from=0&to=301", 400),
        ("/v1/log/consistency?from=5", 400),
        ("/v1/log/entries?limit=101", 400),
        ("/v1/log/entries?start=-1", 400),
        ("/v1/log/checkpoints?cursor=zzzz", 400),
        ("/v1/log/lookup", 400),
        ("/v1/log/lookup?hash=abc", 400),
        (f"/v1/log/lookup?hash={'0' * 64}&document_hash={'0' * 64}", 400),
        (f"/v1/log/lookup?hash={'0' * 64}", 404),
    ],
)
def test_invalid_query_parameters_are_rejected_by_name(client: httpx.Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["http_status"]) == (status, status)


def test_entries_come_in_order_until_the_log_ends(client: httpx.Client, clock: FixedClock) -> None:
    start, seen = 0, []
    while start is not None:
        page = client.get("/v1/log/entries", params={"start": start, "limit": 100}).json()
        seen += page["items"]
        start = page["next_start"]
    assert [item["log_index"] for item in seen] == list(range(300))
    assert b64decode(seen[7]["entry_b64"]) == make_entry(7, clock)
    assert (seen[7]["type"], seen[7]["entry"]["issuer_id"]) == ("attestation.minted", str(ISSUER_ID))


def test_an_entry_is_looked_up_by_its_hash_in_either_spelling(client: httpx.Client, clock: FixedClock) -> None:
    wanted = hashing.leaf_hash(make_entry(270, clock)).hex()
    for spelling in (wanted, f"sha256:{wanted}"):
        assert client.get("/v1/log/lookup", params={"hash": spelling}).json()["log_index"] == 270


def test_lookup_uses_registered_finders(served: LogInstance, client: httpx.Client) -> None:
    served.log.finders["document_hash"] = lambda _connection, text: 3 if text == "a" * 64 else None
    assert client.get("/v1/log/lookup", params={"document_hash": "a" * 64}).json()["log_index"] == 3
    assert client.get("/v1/log/lookup", params={"document_hash": "b" * 64}).status_code == 404


def test_the_key_is_published_with_the_one_that_signs_the_time(served: LogInstance, client: httpx.Client) -> None:
    shown = client.get("/v1/log/vkey").json()
    assert shown["vkey"].split("+")[0] == shown["cosigner_vkey"].split("+")[0] == shown["origin"]
    with served.storage.read() as connection:
        assert shown["vkey"] == served.log.vkey(connection)


@pytest.mark.both_engines
def test_every_path_answers_on_either_engine(log_instance: LogInstance) -> None:
    log_instance.grow(300)
    paths = [
        "/log/checkpoint",
        "/log/tile/0/000",
        "/log/tile/1/000.p/1",
        "/log/tile/entries/001.p/44",
        "/v1/log/head",
        "/v1/log/checkpoints",
        "/v1/log/proofs/7?tree_size=9",
        "/v1/log/consistency?from=1&to=300",
        "/v1/log/entries?start=290",
        f"/v1/log/lookup?hash={hashing.leaf_hash(make_entry(7, log_instance.clock)).hex()}",
        "/v1/log/vkey",
    ]
    with serve_log(log_instance) as address:
        assert [patient_http.get(address + path).status_code for path in paths] == [200] * len(paths)
