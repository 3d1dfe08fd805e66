"""The status list: it follows from the entries alone, and its chunks prove what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ProofInvalid
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import IssuerStatus
from attestlab.log.entries import ParsedEntry, sha256_name
from attestlab.log.merkle.hashing import leaf_hash, node_hash
from attestlab.log.status.publisher import StatusListPublisher
from attestlab.log.status.status_list import CHUNK_BYTES, INDEXES_PER_CHUNK, Chunk, StatusList, verify_chunk
from attestlab.orgs.rules import Caller
from support.log.entries import read_log_entries


def ended(minted_index: int, status: str) -> ParsedEntry:
    members: dict[str, object] = {"minted_index": minted_index, "status": status}
    return ParsedEntry("attestation.status", members, f"attestation:{minted_index}", None)


def test_two_bits_an_index_the_lower_indexes_in_the_lower_bits() -> None:
    """
    So that anyone who reads this sentence computes the same bytes.
    """
    statuses = StatusList()
    for index, (place, status) in enumerate([(0, "REVOKED"), (3, "EXPIRED"), (5, "SUPERSEDED")], 10):
        statuses.apply(index, ended(place, status))

    assert statuses.chunk_of(0).data == bytes([0b11_00_00_01, 0b00_00_10_00]) + bytes(CHUNK_BYTES - 2)
    assert statuses.digest() == leaf_hash(statuses.chunk_of(0).data)


def test_the_digest_of_several_chunks_is_their_merkle_tree_hash() -> None:
    statuses = StatusList()
    statuses.grow(2 * INDEXES_PER_CHUNK + 1)
    empty = leaf_hash(bytes(CHUNK_BYTES))

    assert statuses.digest() == node_hash(node_hash(empty, empty), empty)


def test_key_status_code_and_issuer_reinstatement() -> None:
    statuses = StatusList()
    for index, (kind, status) in enumerate(
        [
            ("issuer.status", "ACTIVE"),
            ("key.status", "active"),
            ("issuer.status", "SUSPENDED"),
            ("key.status", "rotated"),
            ("key.status", "compromised"),
        ]
    ):
        statuses.apply(index, ParsedEntry(kind, {"status": status}, kind, None))
    codes = statuses.code_of(0), statuses.code_of(1)
    statuses.apply(5, ParsedEntry("issuer.status", {"status": "ACTIVE"}, "issuer.status", None))

    assert codes == (2, 3)
    assert statuses.code_of(0) == 0


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 6 * INDEXES_PER_CHUNK), at=st.integers(0), other=st.integers(0), bit=st.integers(0, 8191))
def test_a_chunk_proves_its_own_bytes_and_place_and_nothing_else(size: int, at: int, other: int, bit: int) -> None:
    statuses = StatusList()
    statuses.grow(size)
    statuses.apply(size - 1, ended(at % size, "REVOKED"))
    chunk, digest = statuses.chunk_of(at % size), statuses.digest()

    verify_chunk(chunk, size=size, digest=digest)

    assert chunk.code_of(at % size) == 1
    changed = bytearray(chunk.data)
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ProofInvalid):
        verify_chunk(Chunk(chunk.number, bytes(changed), chunk.hashes), size=size, digest=digest)
    elsewhere = other % 7
    if elsewhere != chunk.number:
        with pytest.raises(ProofInvalid):
            verify_chunk(Chunk(elsewhere, chunk.data, chunk.hashes), size=size, digest=digest)


@pytest.fixture
def minted(lab: Installation, caller: Caller) -> list[UUID]:
    issuer = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="main")
    named: dict[str, Any] = {"issuer_id": issuer.issuer.id, "kid": "main", "schema": "degree"}
    request = MintRequest(**named, claims={"student_name": "Ada"})
    return [lab.attestations.mint(request, caller=caller).id for _ in range(3)]


def append_status_list(lab: Installation) -> int | None:
    """The index of a list, if one was due."""
    with lab.storage.write() as tx:
        appended = lab.status_lists.append_if_due(tx)
    return None if appended is None else appended.index


@pytest.mark.both_engines
def test_a_list_is_logged_once_a_minute_while_the_log_grows(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    found = [append_status_list(lab)]
    for act in (None, None, lambda: lab.attestations.revoke(minted[0], reason="a test", caller=caller)):
        if act is not None:
            act()
        clock.advance(timedelta(seconds=61))
        found.append(append_status_list(lab))

    assert found == [None, 5, None, 7]


def test_anyone_computes_the_digest_from_the_log_alone(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    lab.attestations.revoke(minted[1], reason="a test", caller=caller)
    lab.signing_keys.revoke("main", reason="a test", caller=caller)
    clock.advance(timedelta(minutes=2))
    index = append_status_list(lab)
    assert index is not None

    statuses = StatusList()
    for number, entry in enumerate(read_log_entries(lab)[:index]):
        statuses.apply(number, entry)

    said = read_log_entries(lab)[index].members
    assert (said["size"], said["digest"]) == (index, sha256_name(statuses.digest()))
    assert [statuses.code_of(number) for number in range(index)] == [0, 1, 0, 1, 0, 0, 0]


def test_list_covers_pending_entries_of_its_transaction(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    clock.advance(timedelta(minutes=2))
    with lab.storage.write() as tx:
        lab.attestations.revoke(minted[2], reason="a test", caller=caller, tx=tx)
        lab.status_lists.append_if_due(tx)

    with lab.storage.read() as connection:
        found = lab.status_lists.newest_covering(connection, 4)
    assert found is not None
    assert found.chunks[0].code_of(4) == 1


@pytest.mark.both_engines
def test_new_process_computes_the_same_list(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    lab.attestations.revoke(minted[0], reason="a test", caller=caller)
    clock.advance(timedelta(minutes=2))
    append_status_list(lab)
    lab.attestations.revoke(minted[1], reason="a test", caller=caller)

    another = StatusListPublisher(storage=lab.storage, log=lab.log, clock=clock)
    another.warm()
    with lab.storage.read() as connection:
        size = lab.log.size(connection)
        assert another.list_of(connection, size) == lab.status_lists.list_of(connection, size)
        assert another.newest_covering(connection, 2) == lab.status_lists.newest_covering(connection, 2)


def test_an_entry_behind_the_newest_list_is_not_in_it(lab: Installation, minted: list[UUID], clock: FixedClock) -> None:
    clock.advance(timedelta(minutes=2))
    index = append_status_list(lab)
    assert index is not None

    with lab.storage.read() as connection:
        assert lab.status_lists.newest_covering(connection, index - 1) is not None
        assert lab.status_lists.newest_covering(connection, index) is None


@pytest.mark.tampered
def test_fsck_finds_a_list_that_leaves_something_out(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    """
    Made by the service itself, which forgot a revocation: every signature holds, and the list does not.
    """
    lab.status_lists.warm()
    lab.attestations.revoke(minted[0], reason="a test", caller=caller)
    clock.advance(timedelta(minutes=2))
    with lab.storage.read() as connection:
        lab.status_lists._newest.grow(lab.log.size(connection))
    append_status_list(lab)

    assert [problem.kind for problem in fsck(lab)] == ["status_list"]


def test_a_suspended_issuer_is_listed_and_a_reinstated_one_is_not(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    issuer_id = lab.attestations.get(minted[0], caller=caller).issuer_id
    codes = []
    for status in (IssuerStatus.SUSPENDED, IssuerStatus.ACTIVE, IssuerStatus.REVOKED):
        lab.issuers.set_governance(issuer_id, status=status, caller=caller)
        with lab.storage.read() as connection:
            codes.append(lab.status_lists.list_of(connection, lab.log.size(connection)).code_of(0))

    assert codes == [2, 0, 1]


def test_the_chain_of_lists_has_no_gap(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock
) -> None:
    for attestation_id in minted:
        lab.attestations.revoke(attestation_id, reason="a test", caller=caller)
        clock.advance(timedelta(minutes=2))
        append_status_list(lab)

    with lab.storage.read() as connection:
        leaves = connection.execute(text("SELECT count(*) FROM log_leaves WHERE subject = 'status.list'")).scalar()
    links = [entry.link for entry in read_log_entries(lab) if entry.kind == "status.list"]
    assert leaves == 3
    assert [link.seq for link in links if link] == [0, 1, 2]
